import { errors, health, madeOnce, qrImages, success } from './responses.js';
import {
  qrParameters,
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

/** What a client may do with a link that was just made: its code is in the body. */
const links = {
  stats: { operationId: 'getStats', parameters: { shortCode: '$response.body#/shortCode' } },
  qr: { operationId: 'getQrCode', parameters: { shortCode: '$response.body#/shortCode' } },
};

/** A key with this scope is needed. */
const needs = (scope: Scope): SchemaPart => ({ security: [{ apiKey: [scope] }] });

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
          },
        },
      }),
      responses: {
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
              },
            ],
          },
        }),
        ...errors(400, 403, 409, 413, 415, 422),
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
      parameters: [...qrParameters, ifNoneMatch],
      responses: { ...qrImages, ...errors(400, 403, 404, 410) },
    },
  },
  '/v2/stats/{shortCode}': {
    parameters: [shortCode, requestId],
    get: {
      operationId: 'getStats',
      ...needs('stats:read'),
      tags: ['Reports'],
      summary: 'Get the clicks of a short link',
      description: "Of the account's own links, also after they have expired.",
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
        }),
        ...errors(403, 404),
      },
    },
  },
  '/v2/usage': {
    parameters: [requestId],
    get: {
      operationId: 'getUsage',
      tags: ['Reports'],
      summary: 'Get what the key has spent this month',
      description: 'Counts for the limit per minute, but costs no call of the month.',
      responses: {
        200: success('Used and allowed.', 'Usage', {
          usage: {
            plan: 'HOBBY',
            calls: { used: 1_200, limit: 25_000 },
            links: { used: 40, limit: 350 },
            qrCodes: { used: 3, limit: 350 },
            resetDate: '2026-06-01',
          },
        }),
        ...errors(),
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
