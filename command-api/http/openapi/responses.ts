/** The headers and bodies of responses in the OpenAPI documents. */
import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';
import type { RouteRow, Success } from '../../../schemas/http/route.js';
import { refTo, type JsonSchema, type SchemaPart } from './schemas.js';

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

export const headersOf = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const optionalHeaders = (names: readonly HeaderName[]): SchemaPart =>
  Object.fromEntries(names.map((name) => [name, { ...componentHeaders[name], required: false }]));

export const everyResponse: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control'];

export const ofKey: readonly HeaderName[] = [
  ...(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const),
  'X-API-Key-Name',
];

export const everyResponseToKey = [...everyResponse, ...ofKey];

export type Examples = Readonly<Record<string, object>>;

/** A JSON body. */
export const jsonContent = (schema: z.ZodType, examples: Examples = {}): SchemaPart => {
  const values = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return {
    'application/json': {
      schema: refTo(schema),
      ...(values.length > 0 && { examples: Object.fromEntries(values) }),
    },
  };
};

const filesOf = ({ files = {} }: Success): SchemaPart =>
  Object.fromEntries(
    Object.entries(files).map(([type, { item, example }]) => [
      type,
      {
        schema: bytes,
        ...(item && { 'x-itemSchema': refTo(item) }),
        ...(example !== undefined && { example }),
      },
    ]),
  );

/** A success of a route. @param common the headers of every response of the listener */
export const successOf = (
  row: RouteRow,
  status: string,
  common: readonly HeaderName[],
): SchemaPart => {
  const success = row.returns[Number(status)] ?? { schema: null };
  const { description = STATUS_CODES[status], schema, examples, links, headers = [] } = success;
  const content = { ...(schema && jsonContent(schema, examples)), ...filesOf(success) };
  const names: readonly HeaderName[] = [
    ...common,
    ...(row.body && schema ? (['Linklog-Ignored-Fields'] as const) : []),
    ...(row.isIdempotent ? (['Idempotency-Replayed'] as const) : []),
    ...headers,
  ];
  return {
    description,
    headers: headersOf(names),
    ...(Object.keys(content).length > 0 && { content }),
    ...(links && { links }),
  };
};
