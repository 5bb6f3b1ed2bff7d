import { messages } from '../../../schemas/http/errors.js';
import { refTo, type JsonSchema, type Part, type SchemaName } from './schemas.js';

const header = (description: string, schema: JsonSchema, required = true): Part => ({
  description,
  ...(required && { required }),
  schema,
});

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };

/** Every header that an answer may have, by its name in `components.headers`. */
export const componentHeaders = {
  'X-Request-Id': header('The one that was sent, or one that was made.', {
    type: 'string',
    pattern: '^[\\x21-\\x7e]{1,128}$',
  }),
  'X-RateLimit-Limit': header('Requests that the plan allows in 60 seconds.', count),
  'X-RateLimit-Remaining': header('Requests left in the current window.', count),
  'X-RateLimit-Reset': header('When the window resets: Unix time in seconds.', count),
  'X-API-Key-Name': header(
    'The name of the key; what is not visible ASCII or space is percent-encoded as UTF-8.',
    { type: 'string', pattern: '^[\\x20-\\x7e]+$' },
  ),
  'Cache-Control': header('Who may keep it, and for how long.', text),
  'WWW-Authenticate': header('How to authenticate.', { ...text, const: 'Bearer' }),
  Allow: header('The methods that this path takes.', text),
  ETag: header('Of this image; send it back in `If-None-Match`.', text),
  'Retry-After': header('Seconds to wait before the next try.', { type: 'integer', minimum: 1 }),
  'Idempotency-Replayed': header(
    'Where this is the first answer to this `Idempotency-Key` once more.',
    { ...text, const: 'true' },
    false,
  ),
} as const;

type HeaderName = keyof typeof componentHeaders;

const headers = (names: readonly HeaderName[]): Part =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The same headers, where not every such answer has them. */
const optionalHeaders = (names: readonly HeaderName[]): Part =>
  Object.fromEntries(names.map((name) => [name, { ...componentHeaders[name], required: false }]));

/** Of every answer to a request whose key is known. */
const ofKnownKey = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-API-Key-Name',
] as const satisfies readonly HeaderName[];
/** Of every answer. */
const ofAll = ['X-Request-Id', 'Cache-Control'] as const satisfies readonly HeaderName[];

const json = (schema: JsonSchema, bodies: Readonly<Record<string, object>>): Part => ({
  'application/json': {
    schema,
    examples: Object.fromEntries(Object.entries(bodies).map(([name, value]) => [name, { value }])),
  },
});

/** A success of `/v2`, as JSON. */
export const success = (
  description: string,
  name: SchemaName,
  bodies: Readonly<Record<string, object>>,
  more: Part = {},
): Part => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey]),
  content: json(refTo(name), bodies),
  ...more,
});

/** A success of a POST, which an Idempotency-Key makes repeatable. */
export const madeOnce = (...[description, name, bodies, more]: Parameters<typeof success>): Part =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Idempotency-Replayed']),
    ...more,
  });

/** The image of a QR code, and the answer to who has it already. */
export const qrImages = {
  200: {
    description: 'The image.',
    headers: headers([...ofAll, ...ofKnownKey, 'ETag']),
    content: {
      // Bytes have no schema.
      'image/png': {},
      'image/svg+xml': { schema: { type: 'string', contentMediaType: 'image/svg+xml' } },
    },
  },
  304: {
    description: 'The image is the one of `If-None-Match`.',
    headers: headers([...ofAll, ...ofKnownKey, 'ETag']),
  },
};

/** The general envelope, in the order of its fields. */
const general = (
  statusCode: number,
  message: string,
  [method, path]: readonly [string, string],
  more: object = {},
): object => ({
  statusCode,
  timestamp: '2026-05-01T12:00:00.000Z',
  path,
  method,
  message,
  ...more,
});

const shorten = ['POST', '/v2/shorten'] as const;
const stats = ['GET', '/v2/stats/spring-sale'] as const;
const qr = ['GET', '/v2/qr/spring-sale'] as const;

const error = (
  description: string,
  names: readonly HeaderName[],
  bodies: Readonly<Record<string, object>>,
  schema = refTo('GeneralError'),
): Part => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey, ...names]),
  content: json(schema, bodies),
});

/** Errors of which some come before the key is known, or without it. */
const keyless = (
  description: string,
  names: readonly HeaderName[],
  bodies: Readonly<Record<string, object>>,
): Part => ({
  description,
  headers: { ...headers([...ofAll, ...names]), ...optionalHeaders(ofKnownKey) },
  content: json(refTo('GeneralError'), bodies),
});

const monthlyLimit = {
  statusCode: 429,
  message: messages.callsExhausted,
  limit: 2_000,
  resetDate: '2026-06-01',
  upgradeUrl: 'https://example.com/billing',
};

/** Every error that more than one operation answers, by its name in `components.responses`. */
export const componentResponses = {
  BadRequest: error('What was sent is not valid; `message` says what.', [], {
    url: general(400, 'Please provide a valid URL', shorten),
    alias: general(400, messages.aliasTaken, shorten),
  }),
  Unauthorized: {
    description: 'No key, or one that is invalid, inactive or revoked.',
    headers: headers([...ofAll, 'WWW-Authenticate']),
    content: json(refTo('UnauthorizedError'), {
      missing: { statusCode: 401, message: messages.keyMissing, error: 'Unauthorized' },
      invalid: { statusCode: 401, message: messages.keyInvalid, error: 'Unauthorized' },
    }),
  },
  PlanRequired: error(
    'The feature needs another plan.',
    [],
    {
      password: {
        statusCode: 403,
        message: 'Password protection requires the INDIE plan or higher.',
        error: 'Forbidden',
        feature: 'passwordProtection',
        currentPlan: 'FREE',
        upgradeUrl: monthlyLimit.upgradeUrl,
      },
    },
    refTo('PlanError'),
  ),
  NotFound: error('There was never such a short code.', [], {
    unknown: general(404, messages.codeNotFound, stats),
  }),
  MethodNotAllowed: error('Another method than those of this path.', ['Allow'], {
    method: general(405, messages.methodNotAllowed, ['DELETE', stats[1]]),
  }),
  Conflict: error('A request with this `Idempotency-Key` is still in progress.', [], {
    inFlight: general(409, messages.idempotencyInFlight, shorten),
  }),
  Gone: error('The link has expired, or was blocked.', [], {
    expired: general(410, messages.linkExpired, qr, { errorType: 'EXPIRED' }),
    blocked: general(410, messages.linkBlocked, qr, { errorType: 'BLOCKED' }),
  }),
  ContentTooLarge: error('The body has too many bytes.', [], {
    body: general(413, messages.bodyTooLarge, shorten),
  }),
  UnsupportedMediaType: error('The body is not `application/json`.', [], {
    type: general(415, messages.contentType, shorten),
  }),
  UnprocessableContent: error('The `Idempotency-Key` was used with another body.', [], {
    mismatch: general(422, messages.idempotencyMismatch, shorten),
  }),
  TooManyRequests: {
    description:
      'The limit per minute (then with `Retry-After` and `retryAfter`), or a monthly quota ' +
      '(then with `resetDate`).',
    headers: { ...headers([...ofAll, ...ofKnownKey]), ...optionalHeaders(['Retry-After']) },
    content: json(
      { anyOf: [refTo('GeneralError'), refTo('MonthlyLimitError')] },
      {
        minute: general(429, messages.rateLimited, stats, { retryAfter: 42 }),
        month: monthlyLimit,
      },
    ),
  },
  InternalServerError: keyless('Something went wrong here; the detail is kept from clients.', [], {
    internal: general(500, messages.internal, shorten),
  }),
  ServiceUnavailable: keyless(
    'Maintenance, or something that is needed is away. A POST may still take effect later: only ' +
      'a retry with the same `Idempotency-Key` is sure to make one link.',
    ['Retry-After'],
    {
      maintenance: general(503, messages.maintenance, shorten),
      unavailable: general(503, messages.unavailable, shorten),
      safety: general(503, messages.safetyUnavailable, shorten),
    },
  ),
};

const byStatus = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'PlanRequired',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
} as const satisfies Record<number, keyof typeof componentResponses>;

/** What every operation of `/v2` may answer besides its own. */
const common = [401, 405, 429, 500, 503] as const;

/** The errors of an operation of `/v2`: the common ones, and these. */
export const errors = (...own: readonly (keyof typeof byStatus)[]): Part =>
  Object.fromEntries(
    [...common, ...own].map((status) => [
      status,
      { $ref: `#/components/responses/${byStatus[status]}` },
    ]),
  );

/** The answers of a health check: no key is asked for, so there is none to tell of. */
export const health = (
  statuses: Readonly<Record<number, string>>,
  name: SchemaName,
  body: object,
): Part => ({
  ...Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => [
      status,
      { description, headers: headers(ofAll), content: json(refTo(name), { example: body }) },
    ]),
  ),
  405: {
    description: 'Another method than `GET` and `HEAD`.',
    headers: headers(['X-Request-Id', 'Allow']),
    content: json(refTo('GeneralError'), {
      method: general(405, messages.methodNotAllowed, ['POST', '/health']),
    }),
  },
});
