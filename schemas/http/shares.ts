import { z } from 'zod';
import { named, requestParts } from '../components.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { createdAt, expiresIn, optional } from './fields.js';
import { password } from './link-fields.js';
import { call, done, json, routeGroup } from './route.js';

/** The pattern of a page's path, for metrics and the log, which must not contain tokens; `null`: another path. */
export const sharePathOf = (path: string): string | null =>
  path === '/s' || path.startsWith('/s/') ? '/s/:token' : null;

const isShown = z.boolean({ error: 'showDestination must be a boolean' });

export const shareRequest = z
  .object({
    expiresIn: optional(expiresIn).describe('Seconds until the share expires. Default: never.'),
    password: optional(password).describe('Visitors must enter it. Default: none.'),
    showDestination: optional(isShown).describe('Whether visitors see the destination.'),
  })
  .register(requestParts, { id: 'ShareRequest' });
export type ShareRequest = z.output<typeof shareRequest>;

const share = named('Share', {
  id: z.uuid().describe('For `DELETE /v2/links/:shortCode/share/:id`.'),
  expiresAt: timestamp.nullable().describe('When the share expires; `null`: never.'),
  hasPassword: z.boolean().describe('Whether visitors must enter a password.'),
  showDestination: z.boolean().describe('Whether visitors see the destination.'),
  createdAt,
});
export type ShareResponse = z.infer<typeof share>;

const createdShare = named('CreatedShare', {
  url: z.url().describe('The secret address of the page. Only this response has it.'),
  ...share.shape,
});
export type CreatedShareResponse = z.infer<typeof createdShare>;

const shareList = named('ShareList', {
  shares: z.array(share).max(10).describe('Those that have not ended or expired, oldest first.'),
});

const example = {
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d72',
  expiresAt: '2026-06-01T12:00:00.000Z',
  ...{ hasPassword: true, showDestination: false, createdAt: '2026-05-01T12:00:00.000Z' },
};
const url = 'http://localhost:8080/s/V1StGXR8Z5jdHi6BmyT12w';

/** The calls of owners and of operators. */
export const operatorsShareRoutes = {
  shareStatistics: call('POST /links/:shortCode/share', 'Share the statistics of a short link', {
    description:
      'Creates the secret address of a page that needs no key. With `Accept: application/json`, it returns the ' +
      'fields of `GET /v2/stats/:shortCode?include=all`, without `uniques`, and without `url` unless ' +
      '`showDestination` is set. A link has at most 10 shares.',
    body: shareRequest,
    examples: { plain: {}, all: { expiresIn: 2_678_400, password: 'open sesame' } },
    returns: { 201: json('The share.', createdShare, { share: { ...example, url } }) },
    errors: [410],
  }),
  getShares: call('GET /links/:shortCode/share', 'List the shares of a short link', {
    scope: 'links:read',
    description: 'Their addresses are not stored, so the list has none.',
    returns: { 200: json('The shares.', shareList, { shares: { shares: [example] } }) },
  }),
  endShare: call('DELETE /links/:shortCode/share/:id', 'End a share', {
    description: 'Its address returns 404 within a second.',
    returns: { 204: done('The share is ended.') },
  }),
} as const;

export const shareRoutes = routeGroup(
  {
    ...{ tag: 'Reports', scope: 'links:write', topic: topics.accounts.name },
    parameters: { id: share.shape.id },
  },
  operatorsShareRoutes,
);
