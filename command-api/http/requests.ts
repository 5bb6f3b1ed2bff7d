import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import { koaBody } from 'koa-body';
import type { Context } from 'koa';
import type { z } from 'zod';
import { messages } from '../../schemas/http/errors.js';
import { urlFaultOf } from '../../schemas/http/link-fields.js';
import type { RouteMethod } from '../../schemas/http/route.js';
import { messageWithPath } from '../../schemas/http/rules.js';
import { disallowedProperties } from '../../schemas/http/shorten.js';
import type { RequestState } from './app.js';
import { noteIgnoredFields } from './ignored-fields.js';
import { readQuery, type QueryParameters } from './query.js';
import { failure, send, type ResponseState, type Reply } from './reply.js';

export interface Refused {
  readonly type: 'refused';
  readonly reply: Reply;
}

/** A valid part of a request, or the reply that refuses the request. */
export type Read<Value> = { readonly type: 'read'; readonly value: Value } | Refused;

export const refusedWith = (reply: Reply): Refused => ({ type: 'refused', reply });

const tooLarge = (ctx: Context): Refused => {
  // The rest of the body is not read, so the connection cannot be reused.
  ctx.set('Connection', 'close');
  return refusedWith(failure(413, messages.bodyTooLarge));
};

/** Rejects when the client aborts the request. */
const aborted = async ({ req }: Context): Promise<never> => {
  await new Promise<void>((resolve) => {
    req.once('close', () => {
      if (!req.readableEnded) resolve();
    });
  });
  throw Object.assign(new Error('the client aborted the request'), { status: 400 });
};

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
  // The fast path for nearly all requests.
  !contentType.includes(';') ||
  [...contentType.matchAll(parameters)].every(
    ([, name = '', value = '']) =>
      name.toLowerCase() !== 'charset' || utf8Names.has(value.toLowerCase()),
  );

/** Reads a JSON body of at most `limit` bytes as text. Repeated calls return the same text. */
export const bodyReader = (limit: number): ((ctx: Context) => Promise<Read<string>>) => {
  const read = koaBody({
    json: false,
    urlencoded: false,
    text: true,
    textTypes: ['application/json'],
    textLimit: limit,
    // koa-body returns no bytes and would replace invalid UTF-8. In Latin-1, each character is one byte.
    encoding: 'latin1',
  });
  const bodies = new WeakMap<IncomingMessage, Read<string>>();
  return async (ctx) => {
    const known = bodies.get(ctx.req);
    if (known) return known;
    if (Number(ctx.headers['content-length'] ?? 0) > limit) return tooLarge(ctx);
    // Media types are case-insensitive, and may have white space before their parameters.
    if (ctx.request.type.trim().toLowerCase() !== 'application/json') {
      ctx.set('Connection', 'close');
      return refusedWith(failure(415, messages.contentType));
    }
    if (!namesUtf8(ctx.headers['content-type'] ?? '')) {
      ctx.set('Connection', 'close');
      return refusedWith(failure(415, messages.charset));
    }
    const isCompressed = ctx.headers['content-encoding'] !== undefined;
    try {
      const { uncounted } = ctx.state as RequestState;
      const complete = read(ctx, () => Promise.resolve()) as Promise<unknown>;
      // koa-body does not notice an abort while it decompresses.
      await uncounted(isCompressed ? Promise.race([complete, aborted(ctx)]) : complete);
    } catch (error) {
      const { status, type } = error as { status?: number; type?: string };
      if (status === 413) return tooLarge(ctx);
      if (status === 415) return refusedWith(failure(415, messages.contentType));
      // The client closed the connection before the body was read. Later, the status is 400.
      const isGone = type === 'stream.not.readable';
      // Errors without a status are decompression errors.
      if (status === 400 || isGone || (status === undefined && isCompressed)) {
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

/** The maximum nesting of objects and arrays. */
export const maxJsonLevels = 32;

const tooDeep = Symbol('more than `maxJsonLevels`');

/** The first disallowed property name, at any depth; `tooDeep` if the value has more than `levels`. */
const faultIn = (value: unknown, levels = maxJsonLevels): string | typeof tooDeep | null => {
  if (typeof value !== 'object' || value === null) return null;
  if (levels === 0) return tooDeep;
  let found: string | null = null;
  for (const [name, child] of Object.entries(value)) {
    if (disallowedProperties.includes(name)) found ??= name;
    const fault = faultIn(child, levels - 1);
    if (fault === tooDeep) return fault;
    found ??= fault;
  }
  return found;
};

export const isNestedDeeper = (value: unknown, levels: number): boolean =>
  faultIn(value, levels) === tooDeep;

/** Parses a body; an empty one counts as `{}`. */
export const parseJson = (text: string): Read<unknown> => {
  const invalid = refusedWith(failure(400, messages.invalidJson));
  let json: unknown;
  try {
    json = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    // The parser's message may quote the body.
    return invalid;
  }
  const fault = faultIn(json);
  if (fault === tooDeep) return invalid;
  return fault === null
    ? { type: 'read', value: json }
    : refusedWith(failure(400, `property ${fault} should not exist`));
};

/** Parses a value with a schema; 400 with the message of the first invalid field. */
export const parseAs = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): Read<z.output<Schema>> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { type: 'read', value: parsed.data };
  const [issue] = parsed.error.issues;
  const reason = issue && urlFaultOf(issue);
  const reply = failure(400, issue ? messageWithPath(issue) : messages.badRequest);
  return refusedWith(reason ? { ...reply, reason } : reply);
};

/** Parses a body with a schema, and notes stripped fields for the response. */
export const parseJsonAs = <Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  state: ResponseState,
): Read<z.output<Schema>> => {
  const parsed = parseJson(text);
  if (parsed.type === 'refused') return parsed;
  noteIgnoredFields(state, schema, parsed.value);
  return parseAs(schema, parsed.value);
};

export const parseQuery = <Schema extends z.ZodType>(
  schema: Schema,
  ctx: Context,
): Read<z.output<Schema>> => {
  const query = queryOf(ctx);
  return query.type === 'read' ? parseAs(schema, query.value) : query;
};

/** The parameters of the query; 400 if one is not UTF-8. */
export const queryOf = ({ req }: Context): Read<QueryParameters> => {
  const query = readQuery(req.url ?? '');
  if (query.type === 'read') return { type: 'read', value: query.parameters };
  return refusedWith(failure(400, `${query.name ?? 'The query'} must be UTF-8`));
};

/** Handles a request. `parameter` returns a parameter of the path. */
export type Handler<State> = (
  ctx: Context,
  state: State,
  parameter: (name: string) => string,
) => Promise<Reply> | Reply;

export interface Route<State> {
  readonly method: RouteMethod;
  /** Relative to the prefix. */
  readonly path: string;
  readonly handler: Handler<State>;
}

/** Dispatches to the routes under a prefix: 404 for an unknown path, 405 for another method. */
export const createDispatcher = <AnyRoute extends Route<never>>(
  prefix: string,
  routes: readonly AnyRoute[],
) => {
  const router = new Router({ prefix, sensitive: true, strict: true });
  // The router only matches paths: its own dispatch would match each path again.
  const routeOfLayer = new Map(
    routes.map((route) => [router.register(route.path, [route.method], () => undefined), route]),
  );

  const fixedPaths = new Set(
    routes.flatMap(({ path }) => (path.includes(':') ? [] : [prefix + path])),
  );

  const find = (path: string, method: string) => {
    const layers = router.match(path, method).path;
    // `/links/bulk` does not match `/links/:shortCode`.
    const own = fixedPaths.has(path) ? layers.filter((layer) => layer.path === path) : layers;
    const found = own.find(({ methods }) => methods.includes(method));
    return {
      methods: [...new Set(own.flatMap((layer) => layer.methods))],
      ofPath: own.flatMap((layer) => routeOfLayer.get(layer) ?? []),
      found: found && routeOfLayer.get(found),
      parameters: found?.params(path, found.captures(path)) ?? {},
    };
  };

  /** Caches the matches of paths without parameters, because the router tries all patterns. */
  const matches = new Map<string, ReturnType<typeof find>>();

  /** The routes of a path, and the one with the method. */
  const match = (path: string, method: string): ReturnType<typeof find> => {
    const name = `${method} ${path}`;
    const matched = matches.get(name) ?? find(path, method);
    if (fixedPaths.has(path)) matches.set(name, matched);
    return matched;
  };

  const respond = async (ctx: Context): Promise<Reply> => {
    const { methods, found, parameters } = match(ctx.path, ctx.method);
    if (methods.length === 0) return failure(404, messages.notFound);
    if (!found) return failure(405, messages.methodNotAllowed, { Allow: methods.join(', ') });
    // No ID has a null character, which PostgreSQL does not accept in a query.
    const parameter = (name: string): string => (parameters[name] ?? '').replaceAll('\0', '\ufffd');
    return found.handler(ctx, ctx.state as never, parameter);
  };

  return {
    match,
    /** The pattern of a path's route, for any method. */
    routeOf(path: string): string | null {
      const [route] = match(path, 'GET').ofPath;
      return route ? prefix + route.path : null;
    },
    respond,
    async dispatch(ctx: Context): Promise<void> {
      send(ctx, await respond(ctx));
    },
  };
};
