import { z } from 'zod';
import { named, objectOf, requestParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { byUtmName } from '../utm.js';
import { optional } from './fields.js';
import { text } from './link-fields.js';
import { call, done, json, routeGroup } from './route.js';

const nameMessage = 'name must have 1 to 50 characters, none of them control characters';

/** The name in a path, which cannot be a dot segment. The router replaces null characters by U+FFFD. */
export const utmTemplateName = text(
  { minLength: 1, maxLength: 50 },
  /^[^\u0000-\u001f\u007f-\u009f\ufffd]*$/,
  nameMessage,
)
  .refine((name) => name !== '.' && name !== '..', nameMessage)
  .describe('The name of the template, unique in the account.');

const nothingToSave = 'Give at least one of source, medium, campaign, term and content';

/** PUT /v2/utm-templates/:name */
const saveUtmTemplateRequest = objectOf(
  nothingToSave,
  byUtmName((name) =>
    optional(
      text(
        { minLength: 1, maxLength: 200 },
        /^[^\u0000-\u001f\u007f-\u009f]*$/,
        `${name} must have 1 to 200 characters, none of them control characters`,
      ),
    ).describe(`The decoded value of \`utm_${name}\`. Default: the template lacks it.`),
  ),
)
  .refine((values) => Object.values(values).some((value) => value !== null), nothingToSave)
  .meta({ minProperties: 1, description: 'At least one value. Unknown properties are stripped.' })
  .register(requestParts, { id: 'UtmTemplateRequest' });

const utmTemplate = named('UtmTemplate', {
  name: z.string().describe('Unique in the account.'),
  ...byUtmName((name) =>
    z.string().exactOptional().describe(`The value of \`utm_${name}\`; absent: none.`),
  ),
  updatedAt: timestamp.describe('The time of its last change, UTC.'),
});
export type UtmTemplateResponse = z.infer<typeof utmTemplate>;

const utmTemplateList = named('UtmTemplateList', {
  templates: z.array(utmTemplate).max(100).describe('All templates of the account, by name.'),
});
export type UtmTemplateList = z.infer<typeof utmTemplateList>;

const values = { source: 'newsletter', medium: 'email', campaign: 'spring' };
const example = { name: 'Newsletter', ...values, updatedAt: '2026-05-01T12:00:00.000Z' };

export const utmTemplateRoutes = routeGroup(
  {
    ...{ tag: 'Links', scope: 'links:write', topic: topics.accounts.name },
    parameters: { name: utmTemplateName },
  },
  {
    getUtmTemplates: call('GET /utm-templates', 'List the UTM templates of the account', {
      scope: 'links:read',
      description: 'Values of UTM parameters for the destinations of new links. At most 100.',
      returns: {
        200: json('The templates.', utmTemplateList, { templates: { templates: [example] } }),
      },
    }),
    saveUtmTemplate: call('PUT /utm-templates/:name', 'Create or replace a UTM template', {
      description: 'An account has at most 100. Links do not change.',
      body: saveUtmTemplateRequest,
      examples: { newsletter: values },
      returns: { 200: json('The template.', utmTemplate, { template: example }) },
    }),
    deleteUtmTemplate: call('DELETE /utm-templates/:name', 'Delete a UTM template', {
      description: 'Links do not change.',
      returns: { 204: done('The template is deleted.') },
    }),
  },
);
