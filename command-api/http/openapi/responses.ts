import { messages } from '../../../schemas/http/errors.js';
import { refTo, type JsonSchema, type SchemaPart, type SchemaName } from './schemas.js';

const header = (description: string, schema: JsonSchema, required = true): SchemaPart => ({
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
  ETag: header('Of an image, for `If-None-Match`; of a link its version, for `If-Match`.', text),
  'Retry-After': header('Seconds to wait before the next try.', { type: 'integer', minimum: 1 }),
  'Linklog-Ignored-Fields': header(
    'Fields of the body that are not listed and were stripped, in the order of the body: ' +
      'percent-encoded, at most 10.',
    text,
    false,
  ),
  'Linklog-Reused': header('Of a link that was there before.', { ...text, const: 'true' }),
  'Idempotency-Replayed': header(
    'Where this is the first answer to this `Idempotency-Key` once more.',
    { ...text, const: 'true' },
    false,
  ),
} as const;

type HeaderName = keyof typeof componentHeaders;

const headers = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The same headers, where not every such answer has them. */
const optionalHeaders = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { ...componentHeaders[name], required: false }]));

/** Of every answer. */
const ofAll = ['X-Request-Id', 'Cache-Control'] as const satisfies readonly HeaderName[];
/** Of every answer to a request whose key is known. */
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

/** A success of `/v2`, as JSON. */
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

/** A success of a call with a body, as JSON. */
export const successOfBody = (
  ...[description, name, bodies, more]: Parameters<typeof success>
): SchemaPart =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields']),
    ...more,
  });

/** A link as it is, with its version. */
export const linkDetails = (description: string, bodies: Examples): SchemaPart =>
  success(description, 'LinkDetails', bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'ETag']),
  });

/** A link after a change: a key without the scope links:read gets less of it. */
export const changedLink = (description: string, bodies: Examples): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey, 'ETag', 'Linklog-Ignored-Fields']),
  content: json({ anyOf: [refTo('LinkDetails'), refTo('ChangedLink')] }, bodies),
});

/** 204 */
export const done = (description: string): SchemaPart => ({
  description,
  headers: headers([...ofAll, ...ofKnownKey]),
});

/** A success of a POST, which an Idempotency-Key makes repeatable. */
export const madeOnce = (
  ...[description, name, bodies, more]: Parameters<typeof success>
): SchemaPart =>
  success(description, name, bodies, {
    headers: headers([...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields', 'Idempotency-Replayed']),
    ...more,
  });

/** The link that `reuse` found. */
export const reusedLink = (description: string, bodies: Examples): SchemaPart =>
  madeOnce(description, 'Link', bodies, {
    headers: headers([
      ...[...ofAll, ...ofKnownKey, 'Linklog-Ignored-Fields' as const],
      ...(['Idempotency-Replayed', 'Linklog-Reused'] as const),
    ]),
  });

const ofImage = headers([...ofAll, ...ofKnownKey, 'ETag']);

/** The image of a QR code, and the answer to who has it already. */
export const qrImages = {
  200: {
    description: 'The image.',
    headers: ofImage,
    content: {
      // Bytes have no schema.
      'image/png': {},
      'image/svg+xml': { schema: { type: 'string', contentMediaType: 'image/svg+xml' } },
    },
  },
  304: { description: 'The image is the one of `If-None-Match`.', headers: ofImage },
};

/** A request that an example answers. */
type Asked = readonly [method: string, path: string];

const shorten = ['POST', '/v2/shorten'] as const;
const stats = ['GET', '/v2/stats/spring-sale'] as const;
const qr = ['GET', '/v2/qr/spring-sale'] as const;

/** The general envelope, in the order of its fields. */
const general = (
  statusCode: number,
  message: string,
  [method, path]: Asked = shorten,
  more: object = {},
): object => ({
  ...{ statusCode, timestamp: '2026-05-01T12:00:00.000Z', path, method, message },
  ...more,
});

const ofError = headers([...ofAll, ...ofKnownKey]);
/** Some of these errors come before the key is known, or without it. */
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
  {
    schema = refTo('GeneralError'),
    headers: own = ofError,
  }: { schema?: SchemaPart; headers?: SchemaPart } = {},
) => ({ status, name, response: { description, headers: own, content: json(schema, bodies) } });

/** Every error that more than one operation answers; its name stands in `components.responses`. */
const errorResponses = [
  error(400, 'BadRequest', 'What was sent is not valid; `message` says what.', {
    url: general(400, 'Please provide a valid URL', shorten, { reason: 'scheme' }),
    alias: general(400, messages.aliasTaken),
  }),
  error(
    401,
    'Unauthorized',
    'No key, or one that is invalid, inactive or revoked.',
    {
      missing: { statusCode: 401, message: messages.keyMissing, error: 'Unauthorized' },
      invalid: { statusCode: 401, message: messages.keyInvalid, error: 'Unauthorized' },
    },
    { schema: refTo('UnauthorizedError'), headers: headers([...ofAll, 'WWW-Authenticate']) },
  ),
  error(
    403,
    'Forbidden',
    'The key lacks a scope, the feature needs another plan, or an operator or an ancestor has to do it.',
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
    { schema: { anyOf: [refTo('ScopeError'), refTo('PlanError'), refTo('GeneralError')] } },
  ),
  error(404, 'NotFound', 'There was never such a short code, or there is no such key.', {
    unknown: general(404, messages.codeNotFound, stats),
  }),
  error(
    405,
    'MethodNotAllowed',
    'Another method than those of this path.',
    { method: general(405, messages.methodNotAllowed, ['DELETE', stats[1]]) },
    { headers: { ...ofError, ...headers(['Allow']) } },
  ),
  error(409, 'Conflict', 'A request with this `Idempotency-Key` is still in progress.', {
    inFlight: general(409, messages.idempotencyInFlight),
  }),
  error(410, 'Gone', 'The link has expired, or was blocked, disabled or deleted.', {
    expired: general(410, messages.linkExpired, qr, { errorType: 'EXPIRED' }),
    blocked: general(410, messages.linkBlocked, qr, { errorType: 'BLOCKED' }),
  }),
  error(412, 'PreconditionFailed', 'The link has another version than `If-Match` names.', {
    changed: general(412, messages.linkChanged, ['PATCH', '/v2/links/spring-sale']),
  }),
  error(413, 'ContentTooLarge', 'The body has too many bytes.', {
    body: general(413, messages.bodyTooLarge),
  }),
  error(415, 'UnsupportedMediaType', 'The body is not `application/json` in UTF-8.', {
    type: general(415, messages.contentType),
    charset: general(415, messages.charset),
  }),
  error(422, 'UnprocessableContent', 'The `Idempotency-Key` was used with another body.', {
    mismatch: general(422, messages.idempotencyMismatch),
  }),
  error(
    429,
    'TooManyRequests',
    'The limit per minute (then with `Retry-After` and `retryAfter`), or a monthly quota ' +
      '(then with `resetDate`).',
    { minute: general(429, messages.rateLimited, stats, { retryAfter: 42 }), month: monthlyLimit },
    {
      schema: { anyOf: [refTo('GeneralError'), refTo('MonthlyLimitError')] },
      headers: { ...ofError, ...optionalHeaders(['Retry-After']) },
    },
  ),
  error(
    500,
    'InternalServerError',
    'Something went wrong here; the detail is kept from clients.',
    { internal: general(500, messages.internal) },
    { headers: ofKeylessError },
  ),
  error(
    503,
    'ServiceUnavailable',
    'Maintenance, or something that is needed is away. A POST may still take effect later: only ' +
      'a retry with the same `Idempotency-Key` is sure to make one link.',
    {
      maintenance: general(503, messages.maintenance),
      unavailable: general(503, messages.unavailable),
      safety: general(503, messages.safetyUnavailable),
      statistics: general(503, messages.statsIncomplete, stats),
    },
    { headers: { ...ofKeylessError, ...headers(['Retry-After']) } },
  ),
];

export const componentResponses = Object.fromEntries(
  errorResponses.map(({ name, response }) => [name, response]),
);

type ErrorStatus = (typeof errorResponses)[number]['status'];

/** What every operation of `/v2` may answer besides its own. */
const common: readonly ErrorStatus[] = [401, 405, 429, 500, 503];

/** The errors of an operation of `/v2`: the common ones, and these. */
export const errors = (...own: readonly ErrorStatus[]): SchemaPart =>
  Object.fromEntries(
    errorResponses
      .filter(({ status }) => common.includes(status) || own.includes(status))
      .map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  );

/** The answers of a health check: no key is asked for, so there is none to tell of. */
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
    description: 'Another method than `GET` and `HEAD`.',
    headers: headers(['X-Request-Id', 'Allow']),
    content: json(refTo('GeneralError'), {
      method: general(405, messages.methodNotAllowed, ['POST', '/health']),
    }),
  },
});
