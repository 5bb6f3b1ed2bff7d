import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { healthResponse } from '../../../schemas/http/health.js';
import { domainNameOf } from '../../../schemas/domain-name.js';
import { EventStreamParser, type StreamMessage } from '../../../schemas/event-stream.js';
import {
  operatorTable,
  type OperatorOperation,
  type Returned,
} from '../../../schemas/http/operator-routes.js';
import { keyIdPattern } from '../../../schemas/http/keys.js';
import {
  actorHeaderOf,
  type OperatorsLink,
  type OperatorsLinkPage,
} from '../../../schemas/http/operators.js';
import {
  methodOf,
  pathOf,
  type OperatorRows,
  type RouteMethod,
} from '../../../schemas/http/route.js';
import { pastedLink } from '../../../schemas/pasted-code.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { hasCode } from '../../platform/errors.js';
import { jsonText } from '../../platform/json.js';
import { CliError, messageOf } from './errors.js';
import { noService, type Service } from './service.js';

/** Parameters that are `undefined` are not sent. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The values of an operation's request. */
interface CallOptions extends SendOptions {
  /** Parameters of the path. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Query;
}

/** Operations whose responses are pages. */
type PagedOperation = 'listKeys' | 'listDomains' | 'getLinkHistory';

interface ListLinksQuery {
  readonly filter: Query;
  readonly limit: number;
  readonly after: string | null;
}

export interface Changed<Value> {
  readonly value: Value;
  /** Whether its event is in the log; otherwise it is relayed when the log is available again. */
  readonly inLog: boolean;
}

interface HttpResponse {
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
}

interface SendOptions {
  readonly body?: object;
  /** A body of any length, which is sent while it is read. */
  readonly file?: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The time from the request to the end of the response (ms). */
  readonly timeoutMs?: number;
  /** Ends the request instead of a timeout. Its reason is thrown. */
  readonly signal?: AbortSignal;
}

export interface EventsQuery {
  readonly account: string;
  /** Comma-separated names; `undefined`: all but LinkVisited. */
  readonly types: string | undefined;
  /** `start`, `now` or a cursor. */
  readonly after: string;
}

const usualTimeoutMs = 10_000;
/** A connection without a message for this time is dead (ms): an idle stream sends one every 15 s. */
const silenceMs = 60_000;
const pageSize = 1_000;
const linksPerPage = 100;

const unreachable = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
];

/** The command that shows whether a change took effect, by the prefix of its path. */
const lookUps = [
  ['/admin/platform', 'platform show'],
  ['/admin/links/', 'links history'],
  ['/admin/links', 'links list'],
  ['/admin/domains', 'domains list'],
  ['/admin/webhooks', 'webhooks list'],
  ['/admin/imports', 'imports list'],
  ['/admin/reserved-aliases/', 'aliases --help'],
] as const;

const queryOf = (parameters: Query): string => {
  const query = new URLSearchParams();
  for (const [name, values = []] of Object.entries(parameters)) {
    for (const value of [values].flat()) query.append(name, value);
  }
  return query.toString();
};

const rows: OperatorRows = operatorTable;

/** The request of an operation. */
const requestOf = (
  operation: OperatorOperation,
  { parameters = {}, query = {} }: CallOptions,
): { readonly method: RouteMethod; readonly path: string } => {
  const row = operatorTable[operation];
  const path = pathOf(row).replace(/:(\w+)/g, (_name, name: string) =>
    encodeURIComponent(parameters[name] ?? ''),
  );
  const text = queryOf(query);
  return { method: methodOf(row), path: `/admin${path}${text && `?${text}`}` };
};

const errorMessage = jsonText.pipe(z.object({ message: z.string() }));

/** A client of the admin API. Every method throws CliError. */
export const createAdminClient = (
  { url, token, shortUrlHost, dataDir }: Service,
  actor: string,
) => {
  const explain = (
    cause: unknown,
    method: RouteMethod,
    path: string,
    timeoutMs = usualTimeoutMs,
  ): CliError => {
    // The body of an upload could not be read.
    if (cause instanceof CliError) return cause;
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (hasCode(first, ...unreachable)) {
      const message = noService(`no service listens at ${url}`, dataDir);
      return new CliError('NO_SERVICE', message, { cause });
    }
    const failure = hasCode(first, 'ABORT_ERR')
      ? `the service at ${url} did not respond within ${timeoutMs / 1_000} s`
      : `the connection to ${url} failed: ${messageOf(cause)}`;
    const lookUp = lookUps.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'keys list';
    const consequence =
      method === 'GET'
        ? ''
        : `; the change may have taken effect: see "${linklogCommand()} ${lookUp}"`;
    return new CliError('BAD_RESPONSE', failure + consequence, { cause });
  };

  const identity = {
    'X-Actor': actorHeaderOf(actor),
    ...(token !== null && { Authorization: `Bearer ${token}` }),
  };

  // `fetch` would refuse some ports (6000, 6667 …).
  const open = (
    method: RouteMethod,
    path: string,
    { body, file, headers }: SendOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const type = file ? 'application/octet-stream' : 'application/json';
      const options = {
        ...{ method, path, signal, agent: false, timeout: silenceMs },
        headers: { ...identity, ...((file ?? body) && { 'Content-Type': type }), ...headers },
      };
      const source = file && Readable.from(file, { objectMode: false });
      const sent = request(new URL(url), options, (response) => {
        // After an early response, the rest of a file is not sent.
        response.once('close', () => source?.destroy());
        resolve(response);
      });
      sent.on('error', reject);
      sent.on('timeout', () => {
        // Otherwise, a file is still being read, such as from a slow pipe.
        if (source && !sent.writableEnded && !sent.writableNeedDrain) return;
        sent.destroy(new Error(`no data for ${silenceMs / 1_000} s`));
      });
      if (source) pipeline(source, sent).catch(reject);
      else sent.end(body && JSON.stringify(body));
    });

  const readAll = async (response: IncomingMessage): Promise<HttpResponse> => ({
    status: response.statusCode ?? 0,
    requestId: String(response.headers['x-request-id']),
    text: await text(response),
  });

  const send = async (
    method: RouteMethod,
    path: string,
    options: SendOptions = {},
  ): Promise<HttpResponse> => {
    const { timeoutMs = usualTimeoutMs, signal } = options;
    try {
      const end = signal ?? AbortSignal.timeout(timeoutMs);
      return await readAll(await open(method, path, options, end));
    } catch (error) {
      signal?.throwIfAborted();
      throw explain(error, method, path, timeoutMs);
    }
  };

  async function* readBytes(response: IncomingMessage, path: string): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
    } catch (error) {
      throw explain(error, 'GET', path);
    }
  }

  async function* readMessages(
    response: IncomingMessage,
    path: string,
  ): AsyncGenerator<StreamMessage> {
    const parser = new EventStreamParser();
    const chunks = readBytes(response.setEncoding('utf8'), path);
    for await (const chunk of chunks) yield* parser.push(String(chunk));
  }

  const refusal = ({ status, requestId, text: body }: HttpResponse): CliError => {
    if (status === 401) {
      const message = token === null ? 'requires its admin token' : 'rejects this admin token';
      return new CliError(
        'REFUSED',
        `the service at ${url} ${message}: set ADMIN_TOKEN or DATA_DIR as for the service`,
      );
    }
    const parsed = errorMessage.safeParse(body);
    if (!parsed.success) {
      return new CliError('BAD_RESPONSE', `the server at ${url} is not Linklog (HTTP ${status})`);
    }
    const { message } = parsed.data;
    return status >= 500
      ? new CliError('UNAVAILABLE', `${message} (see request ${requestId} in its log)`)
      : new CliError('REFUSED', message);
  };

  const read = <Schema extends z.ZodType>(
    schema: Schema,
    response: HttpResponse,
  ): z.output<Schema> => {
    const parsed = jsonText.pipe(schema).safeParse(response.text);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw new CliError(
      'BAD_RESPONSE',
      `the server at ${url} is not this version of Linklog` +
        (where === '' ? '' : ` (${where}: ${issue?.message ?? ''})`),
    );
  };

  /** Opens a response without an end in time. */
  const openResponse = async (
    path: string,
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    let refused: HttpResponse;
    try {
      const response = await open('GET', path, options, signal);
      if (response.statusCode === 200) return response;
      refused = await readAll(response);
    } catch (error) {
      throw explain(error, 'GET', path);
    }
    throw refusal(refused);
  };

  /** Calls an operation. Statuses that its row lacks are refusals. */
  const call = async <Operation extends OperatorOperation>(
    operation: Operation,
    options: CallOptions = {},
  ): Promise<Changed<Returned<Operation>>> => {
    const { method, path } = requestOf(operation, options);
    const response = await send(method, path, options);
    const success = rows[operation]?.returns[response.status];
    if (!success) throw refusal(response);
    const value = success.schema ? read(success.schema, response) : undefined;
    return { value: value as Returned<Operation>, inLog: response.status !== 202 };
  };

  const get = async <Operation extends OperatorOperation>(
    operation: Operation,
    options?: CallOptions,
  ): Promise<Returned<Operation>> => (await call(operation, options)).value;

  const pages = async <Operation extends PagedOperation>(
    operation: Operation,
    { query, ...options }: CallOptions = {},
  ): Promise<readonly Returned<Operation>[]> => {
    const results: Returned<Operation>[] = [];
    for (let after: string | undefined; ;) {
      const page = await get(operation, {
        ...options,
        query: { ...query, limit: String(pageSize), after },
      });
      results.push(page);
      const { next } = page as { readonly next: string | number | null };
      if (next === null) return results;
      after = String(next);
    }
  };

  /** Pages before the last one may be short or empty. */
  const listLinks = async ({
    filter,
    limit,
    after,
  }: ListLinksQuery): Promise<OperatorsLinkPage> => {
    const links: OperatorsLink[] = [];
    for (let next = after; ;) {
      const count = String(Math.min(linksPerPage, limit - links.length));
      const query = { ...filter, limit: count, after: next ?? undefined };
      const page = await get('listLinks', { query });
      links.push(...page.links);
      ({ next } = page);
      if (next === null || links.length >= limit) return { links, next };
    }
  };

  /** Oldest first. */
  const listKeys = async () => (await pages('listKeys')).flatMap(({ keys }) => keys);

  /** The id of the key that a text names by its id or its name. @throws CliError */
  const keyIdOf = async (text: string): Promise<string> => {
    if (keyIdPattern.test(text)) return text;
    const named = (await listKeys()).filter(({ name }) => name === text);
    const [first] = named;
    if (first && named.length === 1) return first.id;
    const name = JSON.stringify(text);
    const ids = named.map(({ id, active }) => `${id} (${active ? 'active' : 'inactive'})`);
    throw new CliError(
      'REFUSED',
      first
        ? `${named.length} keys have the name ${name}: use the id, ${ids.join(' or ')}`
        : `no key has the id or the name ${name}; see "${linklogCommand()} keys list"`,
    );
  };

  const isActive = async (name: string): Promise<boolean> => {
    // The pages begin closely before the name: `after` is a domain, too.
    const prefixes = Array.from(name, (_character, end) => name.slice(0, end));
    const before = prefixes.findLast((prefix) => domainNameOf(prefix) === prefix);
    for (let after = before ?? null; ;) {
      const query = { limit: String(pageSize), after: after ?? undefined };
      const { domains, next } = await get('listDomains', { query });
      if (domains.some(({ domain }) => domain === name)) return true;
      if (next === null || next >= name) return false;
      after = next;
    }
  };

  return {
    call,
    get,
    pages,
    listKeys,
    listLinks,
    /** The link that a text names: a code, `domain/code` or a short URL. @param version the expected version */
    async linkOf(text: string, version?: number): Promise<CallOptions> {
      const { domain, code } = await pastedLink(text, { shortUrlHost, isActive });
      return {
        parameters: { shortCode: code },
        query: { domain: domain ?? undefined },
        ...(version !== undefined && { headers: { 'If-Match': `"${version}"` } }),
      };
    },
    keyIdOf,
    keyOf: async (text: string): Promise<CallOptions> => ({
      parameters: { id: await keyIdOf(text) },
    }),
    /** The next page of at most `limit` events. */
    readEvents: (query: EventsQuery, limit: number) =>
      get('getEvents', { query: { ...query, limit: String(limit) } }),
    /** Opens a stream of events. Its messages end with the connection. @throws CliError, also while they are read */
    async openEvents(
      query: EventsQuery,
      signal: AbortSignal,
    ): Promise<AsyncIterable<StreamMessage>> {
      const { path } = requestOf('getEvents', { query: { ...query } });
      const headers = { Accept: 'text/event-stream' };
      return readMessages(await openResponse(path, { headers }, signal), path);
    },
    /** Opens a file. Its bytes end with the connection. @throws CliError, also while they are read */
    async openBytes(
      operation: 'exportLinks' | 'getImportedRows',
      options: CallOptions,
      signal: AbortSignal,
    ): Promise<AsyncIterable<Buffer>> {
      const { path } = requestOf(operation, options);
      return readBytes(await openResponse(path, {}, signal), path);
    },
    async health() {
      const response = await send('GET', '/health/ready');
      // A 503 has a report, too.
      if (response.status !== 200 && response.status !== 503) throw refusal(response);
      return read(healthResponse, response);
    },
  };
};

export type AdminClient = ReturnType<typeof createAdminClient>;
