import { historyQuery } from '../../../schemas/http/history.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { qrQuery } from '../../../schemas/http/qr.js';
import { accountStatsQuery, statsQuery } from '../../../schemas/http/statistics.js';
import { ownKeysQuery } from '../../../schemas/http/keys.js';
import {
  changedLink,
  done,
  errors,
  health,
  linkDetails,
  madeOnce,
  reusedLink,
  qrImages,
  success,
  successOfBody,
} from './responses.js';
import {
  parametersOf,
  refTo,
  shortCodeSchema,
  type SchemaPart,
  type SchemaName,
} from './schemas.js';
import type { Scope } from '../../../schemas/scopes.js';

const requestId = {
  name: 'X-Request-Id',
  in: 'header',
  description: '1 to 128 visible characters, which the answer repeats; otherwise one is made.',
  schema: { type: 'string' },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For 24 hours the same key, path and body give the first success once more; failures are ' +
    'not kept.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of an image that the client has already.',
  schema: { type: 'string' },
};

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  description: 'An `ETag` that the link must still have, a list of them, or `*`.',
  schema: { type: 'string' },
};

const shortCode = { name: 'shortCode', in: 'path', required: true, schema: shortCodeSchema };

const body = (name: SchemaName, examples: SchemaPart): SchemaPart => ({
  required: true,
  content: { 'application/json': { schema: refTo(name), examples } },
});

const link = {
  shortUrl: 'http://localhost:8081/spring-sale',
  shortCode: 'spring-sale',
  url: 'https://example.com/a?b=c',
  alias: 'spring-sale',
  expiresAt: '2026-05-02T12:00:00.000Z',
  maxClicks: 100,
  createdAt: '2026-05-01T12:00:00.000Z',
};

const reused = {
  shortUrl: 'http://localhost:8081/9fK3bQzR',
  shortCode: '9fK3bQzR',
  url: link.url,
  createdAt: link.createdAt,
};

/** A week of Kathmandu that begins on a Friday: 12 clicks, and 3 visits of bots. */
const statsOfPeriod = {
  period: {
    from: '2026-05-01T00:00:00+05:45',
    to: '2026-05-08T00:00:00+05:45',
    interval: 'week',
    tz: 'Asia/Kathmandu',
    clickCount: 12,
  },
  timeseries: [
    { start: '2026-05-01T00:00:00+05:45', clicks: 5, bots: 1 },
    { start: '2026-05-04T00:00:00+05:45', clicks: 7, bots: 2 },
  ],
  countries: [
    { value: 'NP', clicks: 6 },
    { value: null, clicks: 4 },
    { value: '(other)', clicks: 2 },
  ],
  bots: 3,
};

/** What a client may do with a link that was just made: its code is in the body. */
const links = {
  stats: { operationId: 'getStats', parameters: { shortCode: '$response.body#/shortCode' } },
  qr: { operationId: 'getQrCode', parameters: { shortCode: '$response.body#/shortCode' } },
};

/** A key with this scope is needed. */
const needs = (scope: Scope): SchemaPart => ({ security: [{ apiKey: [scope] }] });

const details = {
  ...link,
  startsAt: null,
  status: 'active',
  title: 'Spring sale',
  note: null,
  tags: ['sale', 'letter'],
  hasPassword: false,
  clickCount: 12,
  clicksLeft: 88,
  lastAccessed: '2026-05-01T13:30:00.000Z',
  updatedAt: '2026-05-01T12:30:00.000Z',
  version: 2,
};

const changed = { shortCode: link.shortCode, version: 2, status: 'active' };
const withoutRead =
  'without the scope `links:read` gets only `shortCode`, `version` and `status` of a link.';

const freeOfCharge = 'Counts for the limit per minute, but costs no call of the month.';

const managed =
  'The key itself, or a descendant whose scopes and end are within its own: any other key is 404.';

const keyId = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

const usage = {
  plan: 'HOBBY',
  calls: { used: 1_200, limit: 25_000 },
  links: { used: 40, limit: 350 },
  qrCodes: { used: 3, limit: 350 },
  resetDate: '2026-06-01',
};

const key = {
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  name: 'Reader',
  plan: 'HOBBY',
  scopes: ['links:read', 'stats:read'],
  active: true,
  rootId: '019a3c1e-7b20-7c41-9d5e-2f6b8a1c4d70',
  expiresAt: '2026-05-02T12:00:00.000Z',
  createdAt: '2026-05-01T12:00:00.000Z',
  lastUsedAt: null,
  usage,
};
const made = { ...key, key: `ll_${'x'.repeat(38)}` };

/** What a client may do with a key that was just made: its id is in the body. */
const ofKey = Object.fromEntries(
  ['changeKey', 'rotateKey', 'revokeKey'].map((operationId) => [
    operationId,
    { operationId, parameters: { id: '$response.body#/id' } },
  ]),
);

/** Every operation of the listener, by path and method. `HEAD` goes wherever `GET` does. */
export const paths = {
  '/v2/shorten': {
    parameters: [requestId],
    post: {
      operationId: 'shorten',
      ...needs('links:create'),
      tags: ['Links'],
      summary: 'Make a short link',
      description:
        'At most 65,536 bytes of body. Costs one link of the month. Custom aliases and ' +
        'passwords need a plan that has them.',
      parameters: [idempotencyKey],
      requestBody: body('ShortenRequest', {
        url: { value: { url: 'https://example.com/a?b=c' } },
        all: {
          value: {
            url: 'https://example.com/a?b=c',
            alias: 'spring-sale',
            password: 'open sesame',
            expiresIn: 86_400,
            maxClicks: 100,
            title: 'Spring sale',
            note: 'For the letter of May',
            tags: ['sale', 'letter'],
          },
        },
        reuse: { value: { url: 'https://example.com/a?b=c', reuse: true } },
      }),
      responses: {
        200: reusedLink('The link that `reuse` found.', { link: reused }),
        201: madeOnce('The link; it redirects on every edge by now.', 'Link', { link }, { links }),
        ...errors(400, 403, 409, 413, 415, 422),
      },
    },
  },
  '/v2/shorten/batch': {
    parameters: [requestId],
    post: {
      operationId: 'shortenBatch',
      ...needs('links:create'),
      tags: ['Links'],
      summary: 'Make up to 50 short links',
      description:
        'At most 524,288 bytes of body. One call, and one link of the month for each that is made.',
      parameters: [idempotencyKey],
      requestBody: body('BatchRequest', {
        two: { value: { urls: [{ url: 'https://example.com/a?b=c' }, { url: 'mailto:a@b.c' }] } },
      }),
      responses: {
        200: madeOnce('An outcome for each item, in their order.', 'BatchResponse', {
          two: {
            results: [
              { index: 0, success: true, ...link },
              {
                index: 1,
                success: false,
                url: 'mailto:a@b.c',
                statusCode: 400,
                message: 'Please provide a valid URL',
                reason: 'scheme',
              },
            ],
          },
        }),
        ...errors(400, 403, 409, 413, 415, 422),
      },
    },
  },
  '/v2/links/bulk': {
    parameters: [requestId],
    post: {
      operationId: 'changeLinks',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Change or delete up to 100 short links',
      description:
        'One change for all; each link is decided alone. Costs a call of the month for each short ' +
        'code, and one of the minute. What the month has no room for fails with its 429. A key ' +
        withoutRead,
      requestBody: body('BulkRequest', {
        tags: {
          value: {
            shortCodes: ['spring-sale', 'nothing'],
            change: { addTags: ['old'], removeTags: ['sale'], disabled: true },
          },
        },
        delete: { value: { shortCodes: ['spring-sale'], change: { delete: true } } },
      }),
      responses: {
        200: successOfBody('An outcome for each short code, in their order.', 'BulkResponse', {
          two: {
            results: [
              {
                index: 0,
                success: true,
                ...details,
                status: 'disabled',
                tags: ['letter', 'old'],
                version: 4,
              },
              {
                index: 1,
                success: false,
                shortCode: 'nothing',
                statusCode: 404,
                message: 'Short URL not found',
              },
            ],
          },
        }),
        ...errors(400, 403, 413, 415),
      },
    },
  },
  '/v2/links': {
    parameters: [requestId],
    get: {
      operationId: 'listLinks',
      ...needs('links:read'),
      tags: ['Links'],
      summary: "Find the account's short links",
      description:
        'What a change did is found within a second. All conditions hold for each link. The order by ' +
        'creation stays as it is while links are made and changed; in the one by clicks, a link whose ' +
        'count moves meanwhile may come twice or not at all.',
      parameters: parametersOf(listLinksQuery),
      responses: {
        200: success('A page of links.', 'Links', {
          links: {
            links: [details],
            next: 'WyJKbGJ5d1BxTWs2cEMiLDAsMTc3NzYzNjgwMDAwMCwic3ByaW5nIl0',
          },
          last: { links: [], next: null },
        }),
        ...errors(400, 403),
      },
    },
  },
  '/v2/links/{shortCode}': {
    parameters: [shortCode, requestId],
    get: {
      operationId: 'getLink',
      ...needs('links:read'),
      tags: ['Links'],
      summary: 'Get a short link',
      description: "One of the account's own; also one that expired or was deleted.",
      responses: { 200: linkDetails('The link.', { link: details }), ...errors(403, 404) },
    },
    patch: {
      operationId: 'changeLink',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Change a short link',
      description:
        'Every edge follows within a second. What is given is checked like that of a new link; a ' +
        'new destination, and one that the link leads to again, is checked for web safety. A key ' +
        withoutRead,
      parameters: [ifMatch],
      requestBody: body('ChangeLinkRequest', {
        destination: { value: { url: 'https://example.com/b' } },
        more: {
          value: {
            expiresIn: null,
            maxClicks: 200,
            title: 'Summer sale',
            tags: [],
            disabled: true,
          },
        },
      }),
      responses: {
        200: changedLink('The link as it is now.', { link: details, withoutRead: changed }),
        ...errors(400, 403, 404, 410, 412, 413, 415),
      },
    },
    delete: {
      operationId: 'deleteLink',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Delete a short link for good',
      description: 'Its code is never given out again. Its record and its statistics stay.',
      parameters: [ifMatch],
      responses: { 204: done('It is deleted, or was before.'), ...errors(403, 404, 412) },
    },
  },
  '/v2/links/{shortCode}/history': {
    parameters: [shortCode, requestId],
    get: {
      operationId: 'getLinkHistory',
      ...needs('links:read'),
      tags: ['Links'],
      summary: 'Get what was done to a short link',
      description: 'CloudEvents, oldest first. Visits are none of them.',
      parameters: [...parametersOf(historyQuery)],
      responses: {
        200: success('A page of events.', 'LinkHistory', {
          history: {
            events: [
              {
                specversion: '1.0',
                id: '019a3c1e-8101-7abc-8def-012345678901',
                type: 'linklog.LinkDisabled.v1',
                source: '/linklog/ledger',
                subject: link.shortCode,
                time: '2026-05-01T12:30:00.000Z',
                datacontenttype: 'application/json',
                sequence: '0000000000000002',
                account: 'default',
                actor: 'operator',
                data: {},
              },
            ],
            next: null,
          },
        }),
        ...errors(400, 403, 404),
      },
    },
  },
  '/v2/qr/{shortCode}': {
    parameters: [shortCode, requestId],
    get: {
      operationId: 'getQrCode',
      ...needs('qr:read'),
      tags: ['Links'],
      summary: 'Get the QR code of a short link',
      description: 'Holds the `shortUrl`. Costs one QR code of the month.',
      parameters: [...parametersOf(qrQuery), ifNoneMatch],
      responses: { ...qrImages, ...errors(400, 403, 404, 410) },
    },
  },
  '/v2/stats': {
    parameters: [requestId],
    get: {
      operationId: 'getAccountStats',
      ...needs('stats:read'),
      tags: ['Reports'],
      summary: "Get the clicks of all the account's links",
      description:
        'Of all time, and of a period: by default the last 30 days. `uniques` is the sum over the ' +
        'links. A period in which more than 200,000 links had a click on a day, summed over its ' +
        'days, has no `links`: 400.',
      parameters: parametersOf(accountStatsQuery),
      responses: {
        200: success('The numbers, all of one moment.', 'AccountStats', {
          account: {
            linkCount: 40,
            clickCount: 1_200,
            ...statsOfPeriod,
            links: [{ shortCode: link.shortCode, url: link.url, clicks: 12 }],
          },
        }),
        ...errors(400, 403),
      },
    },
  },
  '/v2/stats/{shortCode}': {
    parameters: [shortCode, requestId],
    get: {
      operationId: 'getStats',
      ...needs('stats:read'),
      tags: ['Reports'],
      summary: 'Get the clicks of a short link',
      description:
        "Of the account's own links, also after they have expired. With `include`, also what the " +
        'visits of a period recorded. The sum of each list is `period.clickCount`.',
      parameters: parametersOf(statsQuery),
      responses: {
        200: success('The numbers.', 'Stats', {
          stats: {
            shortCode: link.shortCode,
            url: link.url,
            clickCount: 12,
            createdAt: link.createdAt,
            lastAccessed: '2026-05-01T13:30:00.000Z',
            expiresAt: null,
            maxClicks: null,
          },
          included: {
            shortCode: link.shortCode,
            url: link.url,
            clickCount: 200,
            createdAt: link.createdAt,
            lastAccessed: '2026-05-20T13:30:00.000Z',
            expiresAt: null,
            maxClicks: null,
            ...statsOfPeriod,
          },
        }),
        ...errors(400, 403, 404),
      },
    },
  },
  '/v2/usage': {
    parameters: [requestId],
    get: {
      operationId: 'getUsage',
      tags: ['Reports'],
      summary: 'Get what the key has spent this month',
      description: freeOfCharge,
      responses: {
        200: success('Used and allowed.', 'Usage', { usage }),
        ...errors(),
      },
    },
  },
  '/v2/keys': {
    parameters: [requestId],
    get: {
      operationId: 'getKeys',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'List the key itself and the keys that descend from it',
      description: `Those that were revoked are not listed. ${freeOfCharge}`,
      parameters: parametersOf(ownKeysQuery),
      responses: {
        200: success('A page of keys.', 'ApiKeys', { keys: { keys: [key], next: null } }),
        ...errors(400, 403),
      },
    },
    post: {
      operationId: 'makeKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Make a key',
      description: `It shares the limits of the key that makes it. At most 100 keys an account. ${freeOfCharge}`,
      requestBody: body('MakeKeyRequest', {
        reader: {
          value: { name: 'Reader', scopes: ['links:read', 'stats:read'], expiresIn: 86_400 },
        },
      }),
      responses: {
        201: successOfBody(
          'The key, which is shown this once.',
          'MadeApiKey',
          { key: made },
          { links: ofKey },
        ),
        ...errors(400, 403, 413, 415),
      },
    },
  },
  '/v2/keys/{id}': {
    parameters: [keyId, requestId],
    patch: {
      operationId: 'changeKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Change a key',
      description: `${managed} ${freeOfCharge}`,
      requestBody: body('ChangeKeyRequest', {
        off: { value: { active: false } },
        more: { value: { name: 'Stats reader', scopes: ['stats:read'] } },
      }),
      responses: {
        200: successOfBody('The key as it is now.', 'ApiKey', { key }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
    delete: {
      operationId: 'revokeKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Revoke a key for good',
      description: `The keys that descend from it go on. ${managed} ${freeOfCharge}`,
      responses: { 204: done('It is revoked, or was before.'), ...errors(403, 404) },
    },
  },
  '/v2/keys/{id}/rotate': {
    parameters: [keyId, requestId],
    post: {
      operationId: 'rotateKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Replace a key by another of the same id, limits and usage',
      description: `All earlier ones end after the overlap. ${managed} ${freeOfCharge}`,
      requestBody: body('RotateKeyRequest', { hour: { value: { overlapSeconds: 3_600 } } }),
      responses: {
        200: successOfBody('The new key, which is shown this once.', 'MadeApiKey', { key: made }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
  },
  '/health': {
    parameters: [requestId],
    get: {
      operationId: 'getLiveness',
      tags: ['Health'],
      summary: 'Ask whether the process lives',
      security: [],
      responses: health({ 200: 'It does.' }, 'Liveness', { status: 'pass' }),
    },
  },
  '/health/ready': {
    parameters: [requestId],
    get: {
      operationId: 'getReadiness',
      tags: ['Health'],
      summary: 'Ask whether all that it needs is there',
      security: [],
      responses: health({ 200: 'All is there.', 503: 'Something is away.' }, 'Readiness', {
        status: 'pass',
        dependencies: {
          postgres: { state: 'up' },
          log: { state: 'up' },
          projections: { state: 'up' },
        },
        projections: [{ name: 'redirects', lag: 0, deadLetters: 0, parked: 0 }],
        missingEvents: [],
        spool: {
          events: 0,
          bytes: 0,
          leftOver: { spools: 0, bytes: 0 },
          setAside: { files: 0, bytes: 0 },
        },
        compaction: { waiting: 0 },
      }),
    },
  },
} satisfies Readonly<Record<string, SchemaPart>>;
