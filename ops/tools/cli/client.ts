import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { healthResponse } from '../../../schemas/http/health.js';
import { domainNameOf } from '../../../schemas/domain-name.js';
import { EventStreamParser, type StreamMessage } from '../../../schemas/event-stream.js';
import { consoleAddressResponse } from '../../../schemas/http/console.js';
import {
  domainPageResponse,
  operatorsDomain,
  releasedDomain,
} from '../../../schemas/http/domains.js';
import {
  createdKeyResponse,
  keyIdPattern,
  keyPageResponse,
  keyResponse,
  keyWithUsageResponse,
  type ChangeKeyRequest,
  type CreateKeyRequest,
} from '../../../schemas/http/keys.js';
import type { ExportFormat } from '../../../schemas/http/export.js';
import { eventsResponse } from '../../../schemas/http/events.js';
import { historyResponse } from '../../../schemas/http/history.js';
import {
  importListResponse,
  importResponse,
  type ImportResponse,
  type RowOutcome,
} from '../../../schemas/http/imports.js';
import {
  actorHeaderOf,
  aliasOverrideResponse,
  blockResponse,
  createdOperatorsLink,
  operatorsLink,
  operatorsLinkPage,
  platformResponse,
  type OperatorsLink,
  type OperatorsLinkPage,
  type SwitchPlatformRequest,
} from '../../../schemas/http/operators.js';
import {
  operatorsWebhookListResponse,
  testedWebhookResponse,
} from '../../../schemas/http/webhooks.js';
import { pastedLink } from '../../../schemas/pasted-code.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { hasCode } from '../../platform/errors.js';
import { jsonText } from '../../platform/json.js';
import { CliError, messageOf } from './errors.js';
import { noService, type Service } from './service.js';

export interface ListLinksQuery {
  readonly filter: Readonly<Record<string, string | readonly string[] | undefined>>;
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
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** From the request to the end of the response (ms). */
  readonly timeoutMs?: number;
}

export interface EventsQuery {
  readonly account: string;
  /** Comma-separated names; `undefined`: all but LinkVisited. */
  readonly types: string | undefined;
  /** `start`, `now` or a cursor. */
  readonly after: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const usualTimeoutMs = 10_000;
/** A receiver has 15 s to respond to a test. */
const testTimeoutMs = 20_000;
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

export interface ExportLinksQuery {
  readonly account: string;
  readonly format: ExportFormat;
}

/** The parameters of POST /admin/imports. */
export type StartImportQuery = Readonly<Record<string, string | undefined>>;

/** Without the parameters that are `undefined`. */
const queryOf = (parameters: ListLinksQuery['filter']): string => {
  const query = new URLSearchParams();
  for (const [name, values = []] of Object.entries(parameters)) {
    for (const value of [values].flat()) query.append(name, value);
  }
  return query.toString();
};

const errorMessage = jsonText.pipe(z.object({ message: z.string() }));

/** A client of the admin API. Every method throws CliError. */
export const createAdminClient = (
  { url, token, shortUrlHost, dataDir }: Service,
  actor: string,
) => {
  const explain = (
    cause: unknown,
    method: Method,
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

  const silence = (): Error => new Error(`no data for ${silenceMs / 1_000} s`);

  // `fetch` would refuse some ports (6000, 6667 …).
  const open = (
    method: Method,
    path: string,
    { body, headers }: SendOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options = {
        ...{ method, path, signal, agent: false, timeout: silenceMs },
        headers: {
          ...identity,
          ...(body && { 'Content-Type': 'application/json' }),
          ...headers,
        },
      };
      const sent = request(new URL(url), options, resolve);
      sent.on('error', reject);
      sent.on('timeout', () => {
        sent.destroy(silence());
      });
      sent.end(body && JSON.stringify(body));
    });

  /** Sends a body of any length while it is read. After an early response, the rest is not sent. */
  const upload = (
    path: string,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options = {
        ...{ method: 'POST', path, signal, agent: false, timeout: silenceMs },
        headers: { ...identity, 'Content-Type': 'application/octet-stream' },
      };
      const source = Readable.from(body, { objectMode: false });
      const sent = request(new URL(url), options, (response) => {
        response.once('close', () => source.destroy());
        resolve(response);
      });
      sent.on('timeout', () => {
        // Otherwise, the body is still being read, such as from a slow pipe.
        if (sent.writableEnded || sent.writableNeedDrain) sent.destroy(silence());
      });
      pipeline(source, sent).catch(reject);
    });

  const readAll = async (response: IncomingMessage): Promise<HttpResponse> => ({
    status: response.statusCode ?? 0,
    requestId: String(response.headers['x-request-id']),
    text: await text(response),
  });

  const send = async (
    method: Method,
    path: string,
    options: SendOptions = {},
  ): Promise<HttpResponse> => {
    const { timeoutMs = usualTimeoutMs } = options;
    try {
      return await readAll(await open(method, path, options, AbortSignal.timeout(timeoutMs)));
    } catch (error) {
      throw explain(error, method, path, timeoutMs);
    }
  };

  async function* readMessages(
    response: IncomingMessage,
    path: string,
  ): AsyncGenerator<StreamMessage> {
    const parser = new EventStreamParser();
    try {
      for await (const chunk of response.setEncoding('utf8')) yield* parser.push(String(chunk));
    } catch (error) {
      throw explain(error, 'GET', path);
    }
  }

  async function* readBytes(response: IncomingMessage, path: string): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
    } catch (error) {
      throw explain(error, 'GET', path);
    }
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

  /** Opens a response without an end in time. Its bytes end with the connection. */
  const openBytes = async (path: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> => {
    let refused: HttpResponse;
    try {
      const response = await open('GET', path, {}, signal);
      if (response.statusCode === 200) return readBytes(response, path);
      refused = await readAll(response);
    } catch (error) {
      throw explain(error, 'GET', path);
    }
    throw refusal(refused);
  };

  const get = async <Schema extends z.ZodType>(
    path: string,
    schema: Schema,
  ): Promise<z.output<Schema>> => {
    const response = await send('GET', path);
    if (response.status !== 200) throw refusal(response);
    return read(schema, response);
  };

  const pages = async <Page extends { readonly next: string | number | null }>(
    path: string,
    schema: z.ZodType<Page>,
  ): Promise<readonly Page[]> => {
    const results: Page[] = [];
    let after = '';
    for (;;) {
      const separator = path.includes('?') ? '&' : '?';
      const page = await get(`${path}${separator}limit=${pageSize}${after}`, schema);
      results.push(page);
      if (page.next === null) return results;
      after = `&after=${encodeURIComponent(page.next)}`;
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
      const query = queryOf({ ...filter, limit: count, after: next ?? undefined });
      const page = await get(`/admin/links?${query}`, operatorsLinkPage);
      links.push(...page.links);
      ({ next } = page);
      if (next === null || links.length >= limit) return { links, next };
    }
  };

  const change = async <Schema extends z.ZodType>(
    method: Method,
    path: string,
    schema: Schema,
    body?: object,
    options: Omit<SendOptions, 'body'> = {},
  ): Promise<Changed<z.output<Schema>>> => {
    const response = await send(method, path, { ...options, body });
    if (![200, 201, 202].includes(response.status)) throw refusal(response);
    return { value: read(schema, response), inLog: response.status !== 202 };
  };

  /** Oldest first. */
  const listKeys = async () =>
    (await pages('/admin/keys', keyPageResponse)).flatMap(({ keys }) => keys);

  const keyPath = (id: string): string => `/admin/keys/${encodeURIComponent(id)}`;

  const isActive = async (name: string): Promise<boolean> => {
    // The pages begin closely before the name: `after` is a domain, too.
    const prefixes = Array.from(name, (_character, end) => name.slice(0, end));
    const before = prefixes.findLast((prefix) => domainNameOf(prefix) === prefix);
    for (let after = before ?? null; ;) {
      const start = after === null ? '' : `&after=${after}`;
      const path = `/admin/domains?limit=${pageSize}${start}`;
      const { domains, next } = await get(path, domainPageResponse);
      if (domains.some(({ domain }) => domain === name)) return true;
      if (next === null || next >= name) return false;
      after = next;
    }
  };

  /** @param text a code, `domain/code` or a short URL */
  const linkPath = async (text: string, call = ''): Promise<string> => {
    const { domain, code } = await pastedLink(text, { shortUrlHost, isActive });
    const query = domain === null ? '' : `?domain=${encodeURIComponent(domain)}`;
    return `/admin/links/${encodeURIComponent(code)}${call && `/${call}`}${query}`;
  };
  const ifVersion = (version: number | undefined): SendOptions =>
    version === undefined ? {} : { headers: { 'If-Match': `"${version}"` } };
  const webhookPath = (id: string, call: string): string =>
    `/admin/webhooks/${encodeURIComponent(id)}/${call}`;
  const importPath = (id: string): string => `/admin/imports/${encodeURIComponent(id)}`;
  const overridePath = (alias: string): string =>
    `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;

  return {
    createKey: (key: CreateKeyRequest) => change('POST', '/admin/keys', createdKeyResponse, key),
    listKeys,
    /** The id of the key that a text names by its id or its name. @throws CliError */
    async keyIdOf(text: string): Promise<string> {
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
    },
    findKey: (id: string) => get(keyPath(id), keyWithUsageResponse),
    changeKey: (id: string, request: ChangeKeyRequest) =>
      change('PATCH', keyPath(id), keyResponse, request),
    revokeKey: (id: string) => change('DELETE', keyPath(id), keyResponse),
    /** @param key by its id; `null` for the oldest active key */
    createConsoleAddress: async (key: string | null) =>
      (await change('POST', '/admin/console', consoleAddressResponse, { key })).value,
    readPlatform: () => get('/admin/platform', platformResponse),
    switchPlatform: (switches: SwitchPlatformRequest) =>
      change('PATCH', '/admin/platform', platformResponse, switches),
    listLinks,
    createLink: (link: object) => change('POST', '/admin/links', createdOperatorsLink, link),
    findLink: async (code: string) => get(await linkPath(code), operatorsLink),
    /** @param version the expected version */
    changeLink: async (code: string, request: object, version?: number) =>
      change('PATCH', await linkPath(code), operatorsLink, request, ifVersion(version)),
    deleteLink: async (code: string, version?: number) =>
      change('DELETE', await linkPath(code), operatorsLink, undefined, ifVersion(version)),
    setBlocked: async (code: string, call: 'block' | 'unblock', reason: string) =>
      change('POST', await linkPath(code, call), blockResponse, { reason }),
    /** Oldest first. */
    linkHistory: async (code: string) =>
      (await pages(await linkPath(code, 'history'), historyResponse)).flatMap(
        ({ events }) => events,
      ),
    addDomain: (domain: string, account: string) =>
      change('POST', '/admin/domains', operatorsDomain, { domain, account }),
    /** By name. */
    listDomains: async () =>
      (await pages('/admin/domains', domainPageResponse)).flatMap(({ domains }) => domains),
    removeDomain: (domain: string) =>
      change('DELETE', `/admin/domains/${encodeURIComponent(domain)}`, releasedDomain),
    /** The next page of at most `limit` events. */
    readEvents: (query: EventsQuery, limit: number) =>
      get(`/admin/events?${queryOf({ ...query, limit: String(limit) })}`, eventsResponse),
    /** Opens a stream of events. Its messages end with the connection. @throws CliError, also while they are read */
    async openEvents(
      query: EventsQuery,
      signal: AbortSignal,
    ): Promise<AsyncIterable<StreamMessage>> {
      const path = `/admin/events?${queryOf({ ...query })}`;
      let refused: HttpResponse;
      try {
        const headers = { Accept: 'text/event-stream' };
        const response = await open('GET', path, { headers }, signal);
        if (response.statusCode === 200) return readMessages(response, path);
        refused = await readAll(response);
      } catch (error) {
        throw explain(error, 'GET', path);
      }
      throw refusal(refused);
    },
    /** Opens a file of links. Its bytes end with the connection. @throws CliError, also while they are read */
    openExport: (query: ExportLinksQuery, signal: AbortSignal) =>
      openBytes(`/admin/export?${queryOf({ ...query })}`, signal),
    /** Sends a file and starts its import. @throws CliError, also of `body`; the signal's reason */
    async startImport(
      query: StartImportQuery,
      body: AsyncIterable<Uint8Array>,
      signal: AbortSignal,
    ): Promise<ImportResponse> {
      const path = `/admin/imports?${queryOf(query)}`;
      let response: HttpResponse;
      try {
        response = await readAll(await upload(path, body, signal));
      } catch (error) {
        signal.throwIfAborted();
        throw explain(error, 'POST', path);
      }
      if (response.status !== 202) throw refusal(response);
      return read(importResponse, response);
    },
    /** Of one account, or of all. Newest first. */
    listImports: async (account: string | undefined) =>
      (await get(`/admin/imports?${queryOf({ account })}`, importListResponse)).imports,
    findImport: (id: string) => get(importPath(id), importResponse),
    async stopImport(id: string): Promise<void> {
      const response = await send('DELETE', importPath(id));
      if (response.status !== 204) throw refusal(response);
    },
    /** Opens the outcomes of rows as JSON lines. @throws CliError, also while they are read */
    openImportRows: (id: string, outcome: RowOutcome | undefined, signal: AbortSignal) =>
      openBytes(`${importPath(id)}/rows?${queryOf({ outcome })}`, signal),
    /** Of one account, or of all. */
    listWebhooks: async (account: string | undefined) =>
      (await get(`/admin/webhooks?${queryOf({ account })}`, operatorsWebhookListResponse)).webhooks,
    testWebhook: async (id: string) => {
      const options = { timeoutMs: testTimeoutMs };
      const path = webhookPath(id, 'test');
      return (await change('POST', path, testedWebhookResponse, undefined, options)).value;
    },
    /** @param after `start`, a cursor or a time */
    replayWebhook: async (id: string, after: string): Promise<void> => {
      const response = await send('POST', webhookPath(id, 'replay'), { body: { after } });
      if (response.status !== 202) throw refusal(response);
    },
    allowAlias: (alias: string, account: string) =>
      change('PUT', overridePath(alias), aliasOverrideResponse, { account }),
    disallowAlias: (alias: string) => change('DELETE', overridePath(alias), aliasOverrideResponse),
    async health() {
      const response = await send('GET', '/health/ready');
      // A 503 has a report, too.
      if (response.status !== 200 && response.status !== 503) throw refusal(response);
      return read(healthResponse, response);
    },
  };
};

export type AdminClient = ReturnType<typeof createAdminClient>;
