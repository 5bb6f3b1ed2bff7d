import { z } from 'zod';
import { requestParts } from '../components.js';
import { optional } from './fields.js';
import { domainName } from './link-address.js';
import { linkDetails } from './links.js';
import { call, done, json, routeGroup } from './route.js';
import { aliasText } from './shorten.js';

/** The body of POST /v2/links/:shortCode/codes. */
export const addCodeRequest = z
  .object({
    alias: aliasText.meta({ description: 'The further code.', examples: ['spring'] }),
    domain: optional(domainName).meta({
      description: 'An active domain of the account. Default: the default domain.',
      examples: ['go.example.com'],
    }),
  })
  .register(requestParts, { id: 'AddCodeRequest' });

const withCode = {
  ...{ shortCode: 'spring-sale', domain: null, version: 3, status: 'active' },
  codes: [{ code: 'spring', domain: 'go.example.com', shortUrl: 'http://go.example.com/spring' }],
};

export const codeRoutes = routeGroup(
  {
    ...{ tag: 'Links', scope: 'links:write' },
    parameters: {
      code: z.string().describe('`code` on the default domain, otherwise `domain/code`.'),
    },
  },
  {
    addCode: call('POST /links/:shortCode/codes', 'Add a further code to a short link', {
      description:
        'The code redirects as the first one does, on every edge. It is an alias: it costs one link of the ' +
        'month, and is never assigned again. A link has at most 20 further codes.',
      body: addCodeRequest,
      examples: { code: { alias: 'spring', domain: 'go.example.com' } },
      returns: {
        201: json('The link.', linkDetails, { link: withCode }, { headers: ['ETag'] }),
      },
      errors: [410],
    }),
    removeCode: call('DELETE /links/:shortCode/codes/:code', 'Remove a further code', {
      description: 'Visitors get 410 on every edge within a second. The first code stays.',
      returns: { 204: done('The code is removed.') },
      errors: [400, 410],
    }),
  },
);
