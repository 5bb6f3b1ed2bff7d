import { exportQuery } from '../../../schemas/http/export.js';
import { historyQuery } from '../../../schemas/http/history.js';
import { linkDomainQuery } from '../../../schemas/http/link-address.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { listTagsQuery } from '../../../schemas/http/tags.js';
import { qrQuery } from '../../../schemas/http/qr.js';
import { accountStatsQuery, statsQuery } from '../../../schemas/http/statistics.js';
import { ownKeysQuery } from '../../../schemas/http/keys.js';
import {
  changedLink,
  done,
  errors,
  exportFile,
  health,
  linkDetails,
  successOfIdempotent,
  reusedLink,
  qrImages,
  statistics,
  success,
  successOfBody,
} from './responses.js';
import { parametersOf, shortCodeSchema, type SchemaPart } from './schemas.js';
import { eventPaths } from './event-operations.js';
import { importPaths } from './import-operations.js';
import { body, needs } from './operation-parts.js';

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'For 24 hours, the same key, path and body get the first successful response again; failures ' +
    'are not stored. Empty: absent.',
  schema: { type: 'string', maxLength: 255 },
};

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description:
    'The `ETag` of an image that the client has cached: 304 without a body if it is current.',
  schema: { type: 'string' },
};

const ifMatch = {
  name: 'If-Match',
  in: 'header',
  description: 'The required `ETag` of the link, a list of such, or `*`.',
  schema: { type: 'string' },
};

const shortCode = { name: 'shortCode', in: 'path', required: true, schema: shortCodeSchema };

/** The parameters of a path with a link. */
const ofLink = [shortCode, ...parametersOf(linkDomainQuery)];

const link = {
  shortUrl: 'http://localhost:8081/spring-sale',
  shortCode: 'spring-sale',
  url: 'https://example.com/a?b=c',
  alias: 'spring-sale',
  expiresAt: '2026-05-02T12:00:00.000Z',
  maxClicks: 100,
  createdAt: '2026-05-01T12:00:00.000Z',
};

const rules = [
  {
    name: 'ios-de',
    when: { os: ['iOS'], countries: ['DE', 'AT'] },
    url: 'https://apps.example/de',
  },
  {
    name: 'test',
    when: {},
    split: [
      { name: 'a', url: 'https://example.com/a', weight: 1 },
      { name: 'b', url: 'https://example.com/b', weight: 3 },
    ],
  },
];

const reused = {
  shortUrl: 'http://localhost:8081/9fK3bQzR',
  shortCode: '9fK3bQzR',
  url: link.url,
  createdAt: link.createdAt,
};

/** A week in Kathmandu that starts on a Friday: 12 clicks, and 3 visits of bots. */
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

const asCsv =
  '`Accept: text/csv` returns one list or the series as CSV; `include` then names exactly one.';

const exportedCsv =
  'domain,code,alias,url,title,note,tags,createdAt,expiresAt,startsAt,maxClicks,clicks,disabled,rules,' +
  'forwardQuery,hasPassword\r\n,spring-sale,spring-sale,https://example.com/a?b=c,Spring sale,,"sale,letter",' +
  '2026-05-01T12:00:00.000Z,2026-05-02T12:00:00.000Z,,100,12,false,,false,false\r\n';

/** OpenAPI links: operations with the created link, whose code is in the body. */
const links = {
  stats: { operationId: 'getStats', parameters: { shortCode: '$response.body#/shortCode' } },
  qr: { operationId: 'getQrCode', parameters: { shortCode: '$response.body#/shortCode' } },
};

const details = {
  ...link,
  domain: null,
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
  rules: null,
  forwardQuery: false,
  version: 2,
};

const changed = { shortCode: link.shortCode, domain: null, version: 2, status: 'active' };
const withoutRead =
  'without the scope `links:read` gets only `shortCode`, `domain`, `version` and `status` of a link.';

const freeOfCharge = 'Counts toward the limit per minute, but not toward the monthly calls.';

const managed =
  'The key itself, or a descendant whose scopes and end are within its own; any other key is 404.';

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
const domain = {
  domain: 'go.example.com',
  status: 'active',
  verification: {
    type: 'TXT',
    name: '_linklog.go.example.com',
    value: 'linklog=wrjOiaWsw-oKXWNj0b7HADPY',
  },
  rootRedirect: 'https://example.com/',
  notFoundRedirect: null,
  expiredRedirect: null,
  linkCount: 12,
  createdAt: '2026-05-01T12:00:00.000Z',
  verifiedAt: '2026-05-01T12:10:00.000Z',
};
const claimed = {
  ...domain,
  ...{ status: 'pending', rootRedirect: null, linkCount: 0, verifiedAt: null },
};

const domainName = {
  name: 'domain',
  in: 'path',
  required: true,
  schema: { type: 'string', example: 'go.example.com' },
};

/** OpenAPI links: operations with the claimed domain, whose name is in the body. */
const ofDomain = Object.fromEntries(
  ['getDomain', 'changeDomain', 'releaseDomain', 'verifyDomain'].map((operationId) => [
    operationId,
    { operationId, parameters: { domain: '$response.body#/domain' } },
  ]),
);

const created = { ...key, key: `ll_${'x'.repeat(38)}` };

/** OpenAPI links: operations with the created key, whose id is in the body. */
const ofKey = Object.fromEntries(
  ['changeKey', 'rotateKey', 'revokeKey'].map((operationId) => [
    operationId,
    { operationId, parameters: { id: '$response.body#/id' } },
  ]),
);

/** Every operation of the listener, by path and method. `HEAD` works wherever `GET` does. */
export const paths = {
  '/v2/shorten': {
    post: {
      operationId: 'shorten',
      ...needs('links:create'),
      tags: ['Links'],
      summary: 'Create a short link',
      description:
        'At most 65,536 bytes of body. Costs one link of the month. Custom aliases and ' +
        'passwords require a plan that includes them.',
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
            note: 'For the newsletter of May',
            tags: ['sale', 'letter'],
          },
        },
        rules: { value: { url: 'https://example.com/a?b=c', rules, forwardQuery: true } },
        domain: { value: { url: 'https://example.com/a?b=c', domain: 'go.example.com' } },
        reuse: { value: { url: 'https://example.com/a?b=c', reuse: true } },
      }),
      responses: {
        200: reusedLink('The existing link that `reuse` found.', { link: reused }),
        201: successOfIdempotent(
          'The link, which redirects on every edge.',
          'Link',
          { link },
          { links },
        ),
        ...errors(400, 403, 409, 413, 415, 422),
      },
    },
  },
  '/v2/shorten/batch': {
    post: {
      operationId: 'shortenBatch',
      ...needs('links:create'),
      tags: ['Links'],
      summary: 'Create up to 50 short links',
      description:
        'At most 524,288 bytes of body. Costs one call, and one link of the month per created link.',
      parameters: [idempotencyKey],
      requestBody: body('BatchRequest', {
        two: { value: { urls: [{ url: 'https://example.com/a?b=c' }, { url: 'mailto:a@b.c' }] } },
      }),
      responses: {
        200: successOfIdempotent('The outcome of each item, in the same order.', 'BatchResponse', {
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
    post: {
      operationId: 'changeLinks',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Change or delete up to 100 short links',
      description:
        'One change for all links; each link succeeds or fails separately. Costs one monthly call per ' +
        'short code, and one call of the minute. Links beyond the monthly limit fail with 429. A key ' +
        withoutRead,
      requestBody: body('BulkRequest', {
        tags: {
          value: {
            shortCodes: ['spring-sale', 'go.example.com/nothing'],
            change: { addTags: ['old'], removeTags: ['sale'], disabled: true },
          },
        },
        delete: { value: { shortCodes: ['spring-sale'], change: { delete: true } } },
      }),
      responses: {
        200: successOfBody('The outcome of each short code, in the same order.', 'BulkResponse', {
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
                shortCode: 'go.example.com/nothing',
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
    get: {
      operationId: 'listLinks',
      ...needs('links:read'),
      tags: ['Links'],
      summary: "List the account's short links",
      description:
        'Changes are visible within a second. All conditions must match. The order by creation is stable ' +
        'while links are created and changed; in the order by clicks, a link whose count changes ' +
        'meanwhile may be on two pages or on none.',
      parameters: parametersOf(listLinksQuery),
      responses: {
        200: success('A page of links.', 'LinkPage', {
          links: {
            links: [details],
            next: 'WyJKbGJ5d1BxTWs2cEMiLDAsMTc3NzYzNjgwMDAwMCwic3ByaW5nIl0',
          },
          last: { links: [], next: null },
          counted: { links: [], next: null, count: 0 },
        }),
        ...errors(400, 403),
      },
    },
  },
  '/v2/tags': {
    get: {
      operationId: 'listTags',
      ...needs('links:read'),
      tags: ['Links'],
      summary: "List the tags of the account's short links",
      description:
        'Tags that differ only in case are one tag, in the spelling of the newest link. The tags are in the ' +
        'order of their lower-case text. Changes are visible within a second.',
      parameters: parametersOf(listTagsQuery),
      responses: {
        200: success('A page of tags.', 'TagPage', {
          tags: { tags: [{ tag: 'spring', links: 12, clicks: 3_204 }], next: null },
        }),
        ...errors(400, 403),
      },
    },
  },
  '/v2/export': {
    get: {
      operationId: 'exportLinks',
      ...needs('links:read'),
      tags: ['Links'],
      summary: 'Export short links as a file',
      description:
        'All links that `GET /v2/links` lists for these conditions, newest first, from one snapshot. Costs one ' +
        'call. A file is complete only if the response ends regularly: after an error, or after 30 minutes, the ' +
        'connection is reset. In CSV, an apostrophe precedes each value that starts with `=`, `+`, `-`, `@`, an ' +
        'apostrophe, a tab or CR. An account may run two exports at the same time on each node; a third one gets 503.',
      parameters: parametersOf(exportQuery),
      responses: {
        200: exportFile('The file.', exportedCsv),
        ...errors(400, 403),
      },
    },
  },
  '/v2/links/{shortCode}': {
    parameters: ofLink,
    get: {
      operationId: 'getLink',
      ...needs('links:read'),
      tags: ['Links'],
      summary: 'Get a short link',
      description: 'A link of the account, including expired and deleted ones.',
      responses: { 200: linkDetails('The link.', { link: details }), ...errors(400, 403, 404) },
    },
    patch: {
      operationId: 'changeLink',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Change a short link',
      description:
        'Takes effect on every edge within a second. Fields are validated as for a new link. A new ' +
        'destination, and one to which the link redirects again, is checked for web safety. A key ' +
        withoutRead,
      parameters: [ifMatch],
      requestBody: body('ChangeLinkRequest', {
        destination: { value: { url: 'https://example.com/b' } },
        rules: { value: { rules } },
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
        200: changedLink('The changed link.', { link: details, withoutRead: changed }),
        ...errors(400, 403, 404, 410, 412, 413, 415),
      },
    },
    delete: {
      operationId: 'deleteLink',
      ...needs('links:write'),
      tags: ['Links'],
      summary: 'Delete a short link permanently',
      description: 'Its code is never used again. Its details and statistics remain.',
      parameters: [ifMatch],
      responses: { 204: done('The link is deleted.'), ...errors(400, 403, 404, 412) },
    },
  },
  '/v2/links/{shortCode}/history': {
    parameters: ofLink,
    get: {
      operationId: 'getLinkHistory',
      ...needs('links:read'),
      tags: ['Links'],
      summary: 'Get the history of a short link',
      description: 'CloudEvents without visits, oldest first.',
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
            actorNames: {},
          },
        }),
        ...errors(400, 403, 404),
      },
    },
  },
  '/v2/qr/{shortCode}': {
    parameters: ofLink,
    get: {
      operationId: 'getQrCode',
      ...needs('qr:read'),
      tags: ['Links'],
      summary: 'Get the QR code of a short link',
      description:
        'Contains the `shortUrl`. Costs one QR code of the month. `Accept: application/octet-stream` gets the same ' +
        'image with this type.',
      parameters: [...parametersOf(qrQuery), ifNoneMatch],
      responses: { ...qrImages, ...errors(400, 403, 404, 410) },
    },
  },
  '/v2/stats': {
    get: {
      operationId: 'getAccountStats',
      ...needs('stats:read'),
      tags: ['Reports'],
      summary: 'Get the clicks of the account',
      description:
        'Of all time, and of a period: by default the last 30 days. `uniques` is the sum over the ' +
        'links. A period in which more than 200,000 links had a click on a day, summed over its ' +
        'days, has no `links`: 400. ' +
        asCsv,
      parameters: parametersOf(accountStatsQuery),
      responses: {
        200: statistics('The statistics, from one snapshot.', 'AccountStats', {
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
    parameters: ofLink,
    get: {
      operationId: 'getStats',
      ...needs('stats:read'),
      tags: ['Reports'],
      summary: 'Get the clicks of a short link',
      description:
        "Of the account's links, including expired ones. `include` adds the statistics of a period. " +
        'The sum of each list is `period.clickCount`. ' +
        asCsv,
      parameters: parametersOf(statsQuery),
      responses: {
        200: statistics('The statistics.', 'Stats', {
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
  '/v2/domains': {
    get: {
      operationId: 'getDomains',
      tags: ['Domains'],
      ...needs('links:read'),
      summary: 'List the domains of the account',
      description: 'Active domains, and claims of the last 7 days.',
      responses: {
        200: success('The domains.', 'DomainPage', { domains: { domains: [domain, claimed] } }),
        ...errors(403),
      },
    },
    post: {
      operationId: 'claimDomain',
      tags: ['Domains'],
      ...needs('domains:manage'),
      summary: 'Claim a domain',
      description:
        'Add the TXT record of the response, and verify the domain within 7 days. The plan has the number of ' +
        'domains, including claims.',
      requestBody: body('ClaimDomainRequest', { domain: { value: { domain: 'go.example.com' } } }),
      responses: {
        200: successOfBody('The account already has or claims the domain.', 'OwnDomain', {
          domain,
        }),
        201: successOfBody(
          'The claim, with the record to add.',
          'OwnDomain',
          { domain: claimed },
          { links: ofDomain },
        ),
        ...errors(400, 403, 413, 415),
      },
    },
  },
  '/v2/domains/{domain}': {
    parameters: [domainName],
    get: {
      operationId: 'getDomain',
      tags: ['Domains'],
      ...needs('links:read'),
      summary: 'Get a domain of the account',
      description:
        'An active domain, or a claim of the last 7 days. `linkCount` is without deleted links.',
      responses: { 200: success('The domain.', 'OwnDomain', { domain }), ...errors(403, 404) },
    },
    patch: {
      operationId: 'changeDomain',
      tags: ['Domains'],
      ...needs('domains:manage'),
      summary: 'Change the redirects of an active domain',
      description: 'They replace pages for browsers. A blocked link keeps its page.',
      requestBody: body('ChangeDomainRequest', {
        root: { value: { rootRedirect: 'https://example.com/', notFoundRedirect: null } },
      }),
      responses: {
        200: successOfBody('The changed domain.', 'OwnDomain', { domain }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
    delete: {
      operationId: 'releaseDomain',
      tags: ['Domains'],
      ...needs('domains:manage'),
      summary: 'Release a domain, or withdraw its claim',
      description: 'Delete its links first.',
      responses: { 204: done('The domain is released.'), ...errors(403, 404, 409) },
    },
  },
  '/v2/domains/{domain}/verify': {
    parameters: [domainName],
    post: {
      operationId: 'verifyDomain',
      tags: ['Domains'],
      ...needs('domains:manage'),
      summary: 'Verify a claimed domain',
      description: 'Queries the TXT record. The first account that verifies a domain gets it.',
      responses: {
        200: success('The active domain.', 'OwnDomain', { domain }),
        ...errors(403, 404, 409),
      },
    },
  },
  ...importPaths,
  ...eventPaths,
  '/v2/usage': {
    get: {
      operationId: 'getUsage',
      tags: ['Reports'],
      summary: 'Get the usage of the current month',
      description: freeOfCharge,
      responses: {
        200: success('Usage and limits.', 'Usage', { usage }),
        ...errors(),
      },
    },
  },
  '/v2/keys': {
    get: {
      operationId: 'getKeys',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'List the key and its descendants',
      description: `Without revoked keys. ${freeOfCharge}`,
      parameters: parametersOf(ownKeysQuery),
      responses: {
        200: success('A page of keys.', 'ApiKeyPage', { keys: { keys: [key], next: null } }),
        ...errors(400, 403),
      },
    },
    post: {
      operationId: 'makeKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Create a key',
      description: `The key shares the limits of its creator. At most 100 keys per account. ${freeOfCharge}`,
      requestBody: body('MakeKeyRequest', {
        reader: {
          value: { name: 'Reader', scopes: ['links:read', 'stats:read'], expiresIn: 86_400 },
        },
      }),
      responses: {
        201: successOfBody(
          'The key. Its secret is shown only once.',
          'MadeApiKey',
          { key: created },
          { links: ofKey },
        ),
        ...errors(400, 403, 413, 415),
      },
    },
  },
  '/v2/keys/{id}': {
    parameters: [keyId],
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
        200: successOfBody('The changed key.', 'ApiKey', { key }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
    delete: {
      operationId: 'revokeKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Revoke a key permanently',
      description: `Its descendants stay valid. ${managed} ${freeOfCharge}`,
      responses: { 204: done('The key is revoked.'), ...errors(403, 404) },
    },
  },
  '/v2/keys/{id}/rotate': {
    parameters: [keyId],
    post: {
      operationId: 'rotateKey',
      tags: ['Keys'],
      ...needs('keys:manage'),
      summary: 'Replace the secret of a key',
      description: `The id, limits and usage stay. Earlier secrets end after the overlap. ${managed} ${freeOfCharge}`,
      requestBody: body('RotateKeyRequest', { hour: { value: { overlapSeconds: 3_600 } } }),
      responses: {
        200: successOfBody('The new key. Its secret is shown only once.', 'MadeApiKey', {
          key: created,
        }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
  },
  '/health': {
    get: {
      operationId: 'getLiveness',
      tags: ['Health'],
      summary: 'Check liveness',
      description: 'Needs no key, and queries no dependency.',
      security: [],
      responses: health({ 200: 'The process is alive.' }, 'Liveness', { status: 'pass' }),
    },
  },
  '/health/ready': {
    get: {
      operationId: 'getReadiness',
      tags: ['Health'],
      summary: 'Check readiness',
      description:
        'Needs no key. Reports the dependencies, the projections, the spool of visits and maintenance.',
      security: [],
      responses: health({ 200: 'Ready.', 503: 'A dependency is unavailable.' }, 'Readiness', {
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
        maintenance: null,
        compaction: { waiting: 0 },
      }),
    },
  },
} satisfies Readonly<Record<string, SchemaPart>>;
