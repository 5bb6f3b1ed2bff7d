import { messages } from '../../../schemas/http/errors.js';
import { refTo, type JsonSchema, type SchemaPart, type SchemaName } from './schemas.js';

const header = (description: string, schema: JsonSchema, required = true): SchemaPart => ({
  description,
  ...(required && { required }),
  schema,
});

const text = { type: 'string' };
/** JSON Schema does not describe bytes; client generators know this format. */
export const bytes = { type: 'string', format: 'binary' };
const count = { type: 'integer', minimum: 0 };

/** All response headers, by their name in `components.headers`. */
export const componentHeaders = {
  'X-Request-Id': header('The ID of the request, sent or generated.', {
    type: 'string',
    pattern: '^[\\x21-\\x7e]{1,128}$',
  }),
  'X-RateLimit-Limit': header('Requests that the plan allows in 60 seconds.', count),
  'X-RateLimit-Remaining': header('Requests left in the current window.', count),
  'X-RateLimit-Reset': header('When the window resets: Unix time in seconds.', count),
  'X-API-Key-Name': header(
    'The name of the key. Characters other than visible ASCII and space are percent-encoded as UTF-8.',
    { type: 'string', pattern: '^[\\x20-\\x7e]+$' },
  ),
  'Cache-Control': header('How the response may be cached.', text),
  'WWW-Authenticate': header('How to authenticate.', { ...text, const: 'Bearer' }),
  Allow: header('The methods of this path.', text),
  ETag: header('Of an image, for `If-None-Match`; the version of a link, for `If-Match`.', text),
  'Content-Disposition': header('The name of the file.', text),
  Vary: header('The headers of the request that the response depends on.', text),
  'Retry-After': header('Seconds until the next attempt.', { type: 'integer', minimum: 1 }),
  'Linklog-Ignored-Fields': header(
    'Unknown fields of the body, which were stripped: percent-encoded, in the order of the body, ' +
      'at most 10.',
    text,
    false,
  ),
  'Linklog-Reused': header('The link already existed.', { ...text, const: 'true' }),
  'Idempotency-Replayed': header(
    'The response is a replay of the first one to this `Idempotency-Key`.',
    { ...text, const: 'true' },
    false,
  ),
} as const;

type HeaderName = keyof typeof componentHeaders;

const headers = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const optionalHeaders = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { ...componentHeaders[name], required: false }]));

const ofAll = ['X-Request-Id', 'Cache-Control'] as const satisfies readonly HeaderName[];
/** Of every response to a request with a known key. */
const ofKnownKey = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-API-Key-Name',
] as const satisfies readonly HeaderName[];

type Examples = Readonly<Record<string, object>>;

const json = (schema: JsonSchema, bodies: Examples): SchemaPart => ({
  'application/json': {
    schema,
    examples: Object.fromEntries(Object.entries(bodies).map(([name, value]) => [name, { value }])),
  },
});

/** A JSON response of `/v2`. */
export const success = (
  description: string,
  name: SchemaName,
  bodies: Examples,
  more: SchemaPart = {},
): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey]),
  content: json(refTo(name), bodies),
  ...more,
});

/** A JSON response to a request with a body. */
export const successOfBody = (
  ...[description, name, bodies, more]: Parameters<typeof success>
): SchemaPart =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields']),
    ...more,
  });

export const linkDetails = (description: string, bodies: Examples): SchemaPart =>
  success(description, 'LinkDetails', bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'ETag']),
  });

export const changedLink = (description: string, bodies: Examples): SchemaPart =>
  success(description, 'LinkDetails', bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'ETag', 'Linklog-Ignored-Fields']),
  });

/** JSON Lines, which JSON Schema does not describe. */
export const lines = (description: string, item: SchemaName): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey, 'Vary']),
  content: {
    'application/x-ndjson': { schema: bytes, 'x-itemSchema': refTo(item) },
    'text/plain': { schema: bytes },
  },
});

/** The file of an export. JSON Schema describes neither JSON lines nor CSV. */
export const exportFile = (description: string, csv: string): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey, 'Content-Disposition']),
  content: {
    'application/x-ndjson': { schema: bytes, 'x-itemSchema': refTo('ExportedLink') },
    'text/csv': { schema: bytes, example: csv },
  },
});

/** Statistics as JSON, or one of them as CSV. */
export const statistics = (
  description: string,
  name: 'Stats' | 'AccountStats',
  bodies: Examples,
): SchemaPart =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Vary']),
    content: {
      ...json(refTo(name), bodies),
      'text/csv': { schema: text, example: 'value,clicks\r\nNP,6\r\n,4\r\n(other),2\r\n' },
    },
  });

/** 202 or 204 */
export const done = (description: string): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey]),
});

/** A JSON response to a POST with `Idempotency-Key`. */
export const successOfIdempotent = (
  ...[description, name, bodies, more]: Parameters<typeof success>
): SchemaPart =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields', 'Idempotency-Replayed']),
    ...more,
  });

export const reusedLink = (description: string, bodies: Examples): SchemaPart =>
  successOfIdempotent(description, 'Link', bodies, {
    headers: headers([
      ...[...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields' as const],
      ...(['Idempotency-Replayed', 'Linklog-Reused'] as const),
    ]),
  });

export const qrImages = {
  200: {
    description: 'The image.',
    headers: headers([...ofAll, ...ofKnownKey, 'ETag', 'Vary']),
    content: {
      'image/png': { schema: bytes },
      'image/svg+xml': { schema: bytes },
      'application/octet-stream': { schema: bytes },
    },
  },
};

type RequestLine = readonly [method: string, path: string];

const shorten = ['POST', '/v2/shorten'] as const;
const stats = ['GET', '/v2/stats/spring-sale'] as const;
const qr = ['GET', '/v2/qr/spring-sale'] as const;
const verify = ['POST', '/v2/domains/go.example.com/verify'] as const;

/** The general envelope, in the order of its fields. */
const general = (
  statusCode: number,
  message: string,
  [method, path]: RequestLine = shorten,
  more: object = {},
): object => ({
  ...{ statusCode, timestamp: '2026-05-01T12:00:00.000Z', path, method, message },
  ...more,
});

const ofError = headers([...ofAll, ...ofKnownKey]);
/** Of errors that may occur before the key is known. */
const ofKeylessError = { ...headers(ofAll), ...optionalHeaders(ofKnownKey) };

const monthlyLimit = {
  statusCode: 429,
  message: messages.callsExhausted,
  limit: 2_000,
  resetDate: '2026-06-01',
  upgradeUrl: 'https://example.com/billing',
};

const error = <Status extends number, Name extends string>(
  status: Status,
  name: Name,
  description: string,
  bodies: Examples,
  own = ofError,
) => ({
  status,
  name,
  response: { description, headers: own, content: json(refTo('Error'), bodies) },
});

/** The errors of several operations, by their name in `components.responses`. */
const errorResponses = [
  error(400, 'BadRequest', 'The request is invalid, for the reason in `message`.', {
    url: general(400, 'Please provide a valid URL', shorten, { reason: 'scheme' }),
    alias: general(400, messages.aliasTaken),
  }),
  error(
    401,
    'Unauthorized',
    'The key is missing, invalid, inactive or revoked.',
    {
      missing: { statusCode: 401, message: messages.keyMissing, error: 'Unauthorized' },
      invalid: { statusCode: 401, message: messages.keyInvalid, error: 'Unauthorized' },
    },
    headers([...ofAll, 'WWW-Authenticate']),
  ),
  error(
    403,
    'Forbidden',
    'The key lacks a scope, the feature requires another plan, or only an operator or an ancestor may do this.',
    {
      scope: {
        statusCode: 403,
        message: 'This key lacks the scope links:create.',
        error: 'Forbidden',
        scope: 'links:create',
      },
      suspended: general(403, messages.keySuspended, ['PATCH', '/v2/keys/…']),
      deactivated: general(403, messages.keyDeactivatedAbove, ['PATCH', '/v2/keys/…']),
      password: {
        statusCode: 403,
        message: 'Password protection requires the INDIE plan or higher.',
        error: 'Forbidden',
        feature: 'passwordProtection',
        currentPlan: 'FREE',
        upgradeUrl: monthlyLimit.upgradeUrl,
      },
    },
  ),
  error(404, 'NotFound', 'The link, the key, the domain or the webhook does not exist.', {
    unknown: general(404, messages.codeNotFound, stats),
  }),
  error(
    405,
    'MethodNotAllowed',
    'The path does not support the method.',
    { method: general(405, messages.methodNotAllowed, ['DELETE', stats[1]]) },
    { ...ofError, ...headers(['Allow']) },
  ),
  error(
    409,
    'Conflict',
    'A request with this `Idempotency-Key` is still in progress, the domain is in another state, or ' +
      'the cursor is of another log.',
    {
      inFlight: general(409, messages.idempotencyInFlight),
      record: general(409, messages.domainUnverified, verify, { found: ['v=spf1 -all'] }),
      another: general(409, messages.domainOfAnother, verify),
      cursor: general(409, messages.cursorForeign, ['GET', '/v2/events']),
      links: general(409, messages.domainHasLinks, ['DELETE', '/v2/domains/go.example.com']),
    },
  ),
  error(408, 'RequestTimeout', 'The file was sent too slowly.', {
    slow: general(408, messages.requestTimeout, ['POST', '/v2/imports']),
  }),
  error(410, 'Gone', 'The link is expired, blocked, disabled or deleted.', {
    expired: general(410, messages.linkExpired, qr, { errorType: 'EXPIRED' }),
    blocked: general(410, messages.linkBlocked, qr, { errorType: 'BLOCKED' }),
  }),
  error(412, 'PreconditionFailed', 'The version of the link does not match `If-Match`.', {
    changed: general(412, messages.linkChanged, ['PATCH', '/v2/links/spring-sale']),
  }),
  error(413, 'ContentTooLarge', 'The body is too large.', {
    body: general(413, messages.bodyTooLarge),
  }),
  error(
    415,
    'UnsupportedMediaType',
    'The body is not `application/json` in UTF-8, or a file is neither plain nor gzip.',
    {
      type: general(415, messages.contentType),
      charset: general(415, messages.charset),
      encoding: general(415, messages.importEncoding, ['POST', '/v2/imports']),
    },
  ),
  error(422, 'UnprocessableContent', 'The `Idempotency-Key` was used with another body.', {
    mismatch: general(422, messages.idempotencyMismatch),
  }),
  error(
    429,
    'TooManyRequests',
    'The limit per minute (then with `Retry-After` and `retryAfter`), or a monthly quota ' +
      '(then with `resetDate`).',
    { minute: general(429, messages.rateLimited, stats, { retryAfter: 42 }), month: monthlyLimit },
    { ...ofError, ...optionalHeaders(['Retry-After']) },
  ),
  error(
    500,
    'InternalServerError',
    'An internal error. Its details are only logged.',
    { internal: general(500, messages.internal) },
    ofKeylessError,
  ),
  error(
    503,
    'ServiceUnavailable',
    'Maintenance, or a dependency is unavailable. A POST may still take effect: only a retry with ' +
      'the same `Idempotency-Key` cannot create a second link.',
    {
      maintenance: general(503, messages.maintenance),
      unavailable: general(503, messages.unavailable),
      safety: general(503, messages.safetyUnavailable),
      statistics: general(503, messages.statsIncomplete, stats),
      exports: general(503, messages.tooManyExports, ['GET', '/v2/export']),
      imports: general(503, messages.tooManyImports, ['POST', '/v2/imports']),
    },
    { ...ofKeylessError, ...headers(['Retry-After']) },
  ),
];

export const componentResponses = Object.fromEntries(
  errorResponses.map(({ name, response }) => [name, response]),
);

type ErrorStatus = (typeof errorResponses)[number]['status'];

/** The errors of every operation of `/v2`. */
const common: readonly ErrorStatus[] = [401, 405, 429, 500, 503];

export const errors = (...own: readonly ErrorStatus[]): SchemaPart =>
  Object.fromEntries(
    errorResponses
      .filter(({ status }) => common.includes(status) || own.includes(status))
      .map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  );

/** The responses of a health check, which needs no key. */
export const health = (
  statuses: Readonly<Record<number, string>>,
  name: SchemaName,
  body: object,
): SchemaPart => ({
  ...Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => [
      status,
      { description, headers: headers(ofAll), content: json(refTo(name), { example: body }) },
    ]),
  ),
  405: {
    description: 'The method is not `GET` or `HEAD`.',
    headers: headers(['X-Request-Id', 'Allow']),
    content: json(refTo('Error'), {
      method: general(405, messages.methodNotAllowed, ['POST', '/health']),
    }),
  },
});
