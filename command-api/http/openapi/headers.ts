import type { JsonSchema, Part } from './schemas.js';

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

export type HeaderName = keyof typeof componentHeaders;

export const headers = (names: readonly HeaderName[]): Part =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The same headers, where not every such answer has them. */
export const optionalHeaders = (names: readonly HeaderName[]): Part =>
  Object.fromEntries(names.map((name) => [name, { ...componentHeaders[name], required: false }]));

/** Of every answer to a request whose key is known. */
export const ofKnownKey = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-API-Key-Name',
] as const satisfies readonly HeaderName[];
/** Of every answer. */
export const ofAll = ['X-Request-Id', 'Cache-Control'] as const satisfies readonly HeaderName[];
