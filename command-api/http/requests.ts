import type { IncomingMessage } from 'node:http';
import Router, { type RouterContext } from '@koa/router';
import { koaBody } from 'koa-body';
import type { Context } from 'koa';
import type { z } from 'zod';
import { messages } from '../../schemas/http/errors.js';
import { urlFaultOf } from '../../schemas/http/link-fields.js';
import { disallowedProperties } from '../../schemas/http/shorten.js';
import type { RequestState } from './app.js';
import { scanJson } from './json-scan.js';
import { noteIgnoredFields } from './ignored-fields.js';
import { readQuery, type QueryParameters } from './query.js';
import { failure, send, type AnswerState, type Reply } from './reply.js';

/** The reply that refuses a request. */
export interface Refused {
  readonly type: 'refused';
  readonly reply: Reply;
}

/** A part of a request that could be read, or the reply that refuses the request. */
export type Read<Value> = { readonly type: 'read'; readonly value: Value } | Refused;

export const refusedWith = (reply: Reply): Refused => ({ type: 'refused', reply });

const tooLarge = (ctx: Context): Refused => {
  // The rest of the body is not read, so the connection is of no further use.
  ctx.set('Connection', 'close');
  return refusedWith(failure(413, messages.bodyTooLarge));
};

/** Rejects once the client breaks its request off. */
const brokenOff = async ({ req }: Context): Promise<never> => {
  await new Promise<void>((resolve) => {
    req.once('close', () => {
      if (!req.readableEnded) resolve();
    });
  });
  throw Object.assign(new Error('The request was broken off'), { status: 400 });
};

/** Drops a byte order mark. Throws on bytes that are not UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const decodeUtf8 = (bytes: Buffer): Read<string> => {
  try {
    return { type: 'read', value: utf8.decode(bytes) };
  } catch {
    return refusedWith(failure(400, messages.invalidJson));
  }
};

const parameters = /;[ \t]*([^\s=;"]*)[ \t]*(?:=[ \t]*("(?:[^"\\]|\\.)*"?|[^\s;"]*))?/g;
const utf8Names: ReadonlySet<string> = new Set(['utf-8', 'utf8', '"utf-8"', '"utf8"']);

/** Whether every `charset` of a content type is UTF-8. */
const namesUtf8 = (contentType: string): boolean =>
  // Nearly all content types.
  !contentType.includes(';') ||
  [...contentType.matchAll(parameters)].every(
    ([, name = '', value = '']) =>
      name.toLowerCase() !== 'charset' || utf8Names.has(value.toLowerCase()),
  );

/** Reads a JSON body of at most `limit` bytes as text, also twice: an idempotent replay needs its hash. */
export const bodyReader = (limit: number): ((ctx: Context) => Promise<Read<string>>) => {
  const read = koaBody({
    json: false,
    urlencoded: false,
    text: true,
    textTypes: ['application/json'],
    textLimit: limit,
    // koa-body gives no bytes, and would replace what is not UTF-8: in Latin-1, each character is a byte.
    encoding: 'latin1',
  });
  const bodies = new WeakMap<IncomingMessage, Read<string>>();
  return async (ctx) => {
    const known = bodies.get(ctx.req);
    if (known) return known;
    if (Number(ctx.headers['content-length'] ?? 0) > limit) return tooLarge(ctx);
    // A media type has no case, and white space may stand before its parameters.
    if (ctx.request.type.trim().toLowerCase() !== 'application/json') {
      ctx.set('Connection', 'close');
      return refusedWith(failure(415, messages.contentType));
    }
    if (!namesUtf8(ctx.headers['content-type'] ?? '')) {
      ctx.set('Connection', 'close');
      return refusedWith(failure(415, messages.charset));
    }
    const isPacked = ctx.headers['content-encoding'] !== undefined;
    try {
      const { uncounted } = ctx.state as RequestState;
      const whole = read(ctx, () => Promise.resolve()) as Promise<unknown>;
      // koa-body would wait for ever for the rest of what it decompresses.
      await uncounted(isPacked ? Promise.race([whole, brokenOff(ctx)]) : whole);
    } catch (error) {
      const { status, type } = error as { status?: number; type?: string };
      if (status === 413) return tooLarge(ctx);
      if (status === 415) return refusedWith(failure(415, messages.contentType));
      // The client closed the connection before the body was read; later gives status 400.
      const isGone = type === 'stream.not.readable';
      // An error without a status comes from the decompression.
      if (status === 400 || isGone || (status === undefined && isPacked)) {
        ctx.set('Connection', 'close');
        return refusedWith(failure(400, messages.invalidJson));
      }
      throw error;
    }
    const { body } = ctx.request;
    const decoded = decodeUtf8(Buffer.from(typeof body === 'string' ? body : '', 'latin1'));
    bodies.set(ctx.req, decoded);
    return decoded;
  };
};

/** Objects and arrays within each other. */
const maxJsonLevels = 32;

/** Parses a body; an empty one counts as `{}`. */
export const parseJson = (text: string): Read<unknown> => {
  const invalid = refusedWith(failure(400, messages.invalidJson));
  const { tooDeep, found } = scanJson(text, maxJsonLevels, disallowedProperties);
  if (tooDeep) return invalid;
  let json: unknown;
  try {
    json = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    // The parser's message may quote the body, so the answer does not repeat it.
    return invalid;
  }
  return found === null
    ? { type: 'read', value: json }
    : refusedWith(failure(400, `property ${found} should not exist`));
};

/** A value as a schema reads it; otherwise 400 with the message of the first field that is wrong. */
export const parseAs = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Read<z.output<Schema>> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { type: 'read', value: parsed.data };
  const [issue] = parsed.error.issues;
  const reason = issue && urlFaultOf(issue);
  const reply = failure(400, issue?.message ?? messages.badRequest);
  return refusedWith(reason ? { ...reply, reason } : reply);
};

/** The body's text as a schema reads it. A successful answer will name the fields that the schema strips. */
export const parseJsonAs = <Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  state: AnswerState,
): Read<z.output<Schema>> => {
  const parsed = parseJson(text);
  if (parsed.type === 'refused') return parsed;
  noteIgnoredFields(state, schema, parsed.value);
  return parseAs(schema, parsed.value);
};

/** The query of a request as a schema reads it. */
export const parseQuery = <Schema extends z.ZodType>(
  schema: Schema,
  ctx: Context,
): Read<z.output<Schema>> => {
  const query = queryOf(ctx);
  return query.type === 'read' ? parseAs(schema, query.value) : query;
};

/** The parameters of a request's query; 400 if one is not UTF-8. */
export const queryOf = ({ req }: Context): Read<QueryParameters> => {
  const query = readQuery(req.url ?? '');
  if (query.type === 'read') return { type: 'read', value: query.parameters };
  return refusedWith(failure(400, `${query.name ?? 'The query'} must be UTF-8`));
};

/** Answers a request whose path matched; `parameter` reads a part of the path. */
export type Handler<State> = (
  ctx: Context,
  state: State,
  parameter: (name: string) => string,
) => Promise<Reply> | Reply;

export interface Route<State> {
  /** `GET` answers `HEAD` too. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Behind the prefix. */
  readonly path: string;
  readonly handler: Handler<State>;
}

/** Dispatches to the routes under a prefix: 404 for an unknown path, 405 for another method. */
export const createDispatcher = <One extends Route<never>>(
  prefix: string,
  routes: readonly One[],
) => {
  const router = new Router({ prefix, sensitive: true, strict: true });
  const routeOfLayer = new Map(
    routes.map((one) => {
      const answer = async (ctx: RouterContext): Promise<void> => {
        const parameter = (name: string): string => ctx.params[name] ?? '';
        send(ctx, await one.handler(ctx, ctx.state as never, parameter));
      };
      return [router.register(one.path, [one.method], answer), one];
    }),
  );
  const dispatch = router.routes();

  const fixedPaths = new Set(
    routes.flatMap(({ path }) => (path.includes(':') ? [] : [prefix + path])),
  );

  const find = (path: string, method: string) => {
    const layers = router.match(path, method).path;
    // `/links/bulk` is no `/links/:shortCode`.
    const own = fixedPaths.has(path) ? layers.filter((layer) => layer.path === path) : layers;
    const found = own.find(({ methods }) => methods.includes(method));
    return {
      methods: [...new Set(own.flatMap((layer) => layer.methods))],
      ofPath: own.flatMap((layer) => routeOfLayer.get(layer) ?? []),
      found: found && routeOfLayer.get(found),
    };
  };

  /** By method and path, of paths without parameters: the router tries one pattern after the other. */
  const matches = new Map<string, ReturnType<typeof find>>();

  /** The routes of a path, and the one among them that has the method, too. */
  const match = (path: string, method: string): ReturnType<typeof find> => {
    const name = `${method} ${path}`;
    const matched = matches.get(name) ?? find(path, method);
    if (fixedPaths.has(path)) matches.set(name, matched);
    return matched;
  };
  return {
    match,
    /** The pattern of the route that a path leads to, whatever the method. */
    routeOf(path: string): string | null {
      const [route] = match(path, 'GET').ofPath;
      return route ? prefix + route.path : null;
    },
    async dispatch(ctx: Context): Promise<void> {
      const { methods } = match(ctx.path, ctx.method);
      if (methods.length === 0) send(ctx, failure(404, messages.notFound));
      else if (!methods.includes(ctx.method)) {
        send(ctx, failure(405, messages.methodNotAllowed, { Allow: methods.join(', ') }));
      } else await dispatch(ctx as never, () => Promise.resolve());
    },
  };
};
