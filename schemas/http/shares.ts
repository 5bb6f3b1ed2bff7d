import { z } from 'zod';
import { named, requestParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { createdAt, expiresIn, optional } from './fields.js';
import { password } from './link-fields.js';
import { call, changed, done, found, json, routeGroup } from './route.js';

/** The pattern of a page's path, for metrics and the log, which must not contain tokens; `null`: another path. */
export const sharePathOf = (path: string): string | null =>
  path === '/s' || path.startsWith('/s/') ? '/s/:token' : null;

/** POST /v2/links/:shortCode/share */
export const shareRequest = z
  .object({
    expiresIn: optional(expiresIn).describe('Seconds until the share expires. Default: never.'),
    password: optional(password).describe('Visitors must enter it. Default: none.'),
    showDestination: optional(z.boolean({ error: 'showDestination must be a boolean' })).describe(
      'Whether visitors see the destination. Default: false.',
    ),
  })
  .register(requestParts, { id: 'ShareRequest' });
export type ShareRequest = z.output<typeof shareRequest>;

const fields = {
  id: z.uuid().describe('For `DELETE /v2/links/:shortCode/share/:id`.'),
  expiresAt: timestamp.nullable().describe('When the share expires; `null`: never.'),
  hasPassword: z.boolean().describe('Whether visitors must enter a password.'),
  showDestination: z.boolean().describe('Whether visitors see the destination.'),
  createdAt,
};

const share = named('Share', fields);
export type ShareResponse = z.infer<typeof share>;

const shareWithUrl = named('CreatedShare', {
  ...fields,
  url: z.url().describe('The secret address of the page. Only this response has it.'),
});
export type CreatedShareResponse = z.infer<typeof shareWithUrl>;

const shareList = named('ShareList', {
  shares: z
    .array(share)
    .max(10)
    .describe('Those that have not ended or expired, the oldest first.'),
});

const exampleShare = {
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d72',
  expiresAt: '2026-06-01T12:00:00.000Z',
  hasPassword: true,
  showDestination: false,
  createdAt: '2026-05-01T12:00:00.000Z',
};
const url = 'http://localhost:8080/s/V1StGXR8Z5jdHi6BmyT12w';

export const shareRoutes = routeGroup(
  { tag: 'Reports', scope: 'links:write', topic: topics.accounts.name },
  {
    shareStatistics: call('POST /links/:shortCode/share', 'Share the statistics of a short link', {
      description:
        'Returns the secret address of a page with the statistics, which needs no key. With ' +
        '`Accept: application/json`, it returns the fields of `GET /v2/stats/:shortCode?include=all` without ' +
        '`uniques`, and without `url` unless `showDestination` is set. A link has at most 10 shares.',
      body: shareRequest,
      examples: { plain: {}, all: { expiresIn: 2_678_400, password: 'open sesame' } },
      returns: { 201: json('The share.', shareWithUrl, { share: { ...exampleShare, url } }) },
      errors: [410],
    }),
    getShares: call('GET /links/:shortCode/share', 'List the shares of a short link', {
      scope: 'links:read',
      description: 'Their addresses are not stored, so the list has none.',
      returns: { 200: json('The shares.', shareList, { shares: { shares: [exampleShare] } }) },
    }),
    endShare: call('DELETE /links/:shortCode/share/:id', 'End a share', {
      description: 'Its address returns 404 within a second.',
      returns: { 204: done('The share is ended.') },
    }),
  },
);

export const operatorsShareRoutes = {
  shareStatistics: call('POST /links/:shortCode/share', 'Share the statistics of a link', {
    body: shareRequest,
    errors: [410],
    returns: changed(shareWithUrl, 201),
  }),
  getShares: call('GET /links/:shortCode/share', 'List the shares of a link', {
    returns: found(shareList),
  }),
  endShare: call('DELETE /links/:shortCode/share/:id', 'End a share of a link', {
    returns: changed(named('EndedShare', { id: fields.id })),
  }),
};
