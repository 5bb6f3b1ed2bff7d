/** The errors of the OpenAPI documents. */
import { STATUS_CODES } from 'node:http';
import { anyError, messages } from '../../../schemas/http/errors.js';
import type { RouteRow } from '../../../schemas/http/route.js';
import {
  everyResponse,
  everyResponseToKey,
  headersOf,
  jsonContent,
  ofKey,
  optionalHeaders,
  type Examples,
} from './responses.js';
import type { SchemaPart } from './schemas.js';

type RequestLine = readonly [method: string, path: string];

const shorten = ['POST', '/v2/shorten'] as const;
const stats = ['GET', '/v2/stats/spring-sale'] as const;
const qr = ['GET', '/v2/qr/spring-sale'] as const;
const verify = ['POST', '/v2/domains/go.example.com/verify'] as const;

/** The general envelope, in the order of its fields. */
export const general = (
  statusCode: number,
  message: string,
  [method, path]: RequestLine = shorten,
  more: object = {},
): object => ({
  ...{ statusCode, timestamp: '2026-05-01T12:00:00.000Z', path, method, message },
  ...more,
});

const ofError = headersOf(everyResponseToKey);
/** Headers of errors that may occur before the key is known. */
const ofKeylessError = { ...headersOf(everyResponse), ...optionalHeaders(ofKey) };

const monthlyLimit = {
  statusCode: 429,
  message: messages.callsExhausted,
  limit: 2_000,
  resetDate: '2026-06-01',
  upgradeUrl: 'https://example.com/billing',
};

const error = (
  status: number,
  name: string,
  description: string,
  bodies: Examples,
  own = ofError,
) => ({
  status,
  name,
  response: { description, headers: own, content: jsonContent(anyError, bodies) },
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
    headersOf([...everyResponse, 'WWW-Authenticate']),
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
    { ...ofError, ...headersOf(['Allow']) },
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
    { ...ofKeylessError, ...headersOf(['Retry-After']) },
  ),
];

export const componentResponses = Object.fromEntries(
  errorResponses.map(({ name, response }) => [name, response]),
);

/** The errors of operators' calls, without examples. */
export const operatorsResponses = Object.fromEntries(
  errorResponses.map(({ status, name }) => [
    name,
    {
      description: STATUS_CODES[status],
      headers: headersOf(everyResponse),
      content: jsonContent(anyError),
    },
  ]),
);

/** The errors of every operation. */
const common: readonly number[] = [401, 405, 429, 500, 503];

/** The errors that follow from the parts of a row, and its own ones. */
export const errorsOf = ({ route, scope, query, body, file, ...row }: RouteRow): SchemaPart => {
  const isInvalid = query ?? body ?? file ?? (route.includes(':shortCode') || undefined);
  const statuses = new Set([
    ...common,
    ...(scope === null ? [] : [403]),
    ...(isInvalid === undefined ? [] : [400]),
    ...(route.includes(':') ? [404] : []),
    ...(body || file !== undefined ? [413, 415] : []),
    ...(file === undefined ? [] : [408]),
    ...(row.isIdempotent ? [409, 422] : []),
    ...(row.errors ?? []),
  ]);
  return Object.fromEntries(
    errorResponses
      .filter(({ status }) => statuses.has(status))
      .map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
  );
};
