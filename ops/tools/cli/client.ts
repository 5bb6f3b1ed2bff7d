import { healthResponse } from '../../../schemas/http/health.js';
import { domainNameOf } from '../../../schemas/domain-name.js';
import {
  operatorTable,
  type OperatorOperation,
  type Returned,
} from '../../../schemas/http/operator-routes.js';
import { keyIdPattern } from '../../../schemas/http/keys.js';
import type { OperatorsLink, OperatorsLinkPage } from '../../../schemas/http/operators.js';
import {
  methodOf,
  pathOf,
  type OperatorRows,
  type RouteMethod,
} from '../../../schemas/http/route.js';
import { pastedLink } from '../../../schemas/pasted-code.js';
import type { Message } from '../../clients/typescript/src/lines.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { CliError } from './errors.js';
import type { Service } from './service.js';
import { createTransport, type SendOptions } from './transport.js';

/** Parameters that are `undefined` are not sent. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The values of an operation's request. */
interface CallOptions extends SendOptions {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Query;
}

type PagedOperation = 'listKeys' | 'listDomains' | 'listPeople' | 'getLinkHistory';

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

export interface EventsQuery {
  readonly account: string;
  /** Comma-separated names; `undefined`: all but LinkVisited. */
  readonly types: string | undefined;
  /** `start`, `now` or a cursor. */
  readonly after: string;
}

const pageSize = 1_000;
const linksPerPage = 100;

const queryOf = (parameters: Query): string => {
  const query = new URLSearchParams();
  for (const [name, values = []] of Object.entries(parameters)) {
    for (const value of [values].flat()) query.append(name, value);
  }
  return query.toString();
};

const rows: OperatorRows = operatorTable;

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

/** A client of the admin API. Every method throws CliError. */
export const createAdminClient = (service: Service, actor: string) => {
  const { send, read, refusal, openStream, readBytes, readMessages } = createTransport(
    service,
    actor,
  );

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
        query: { limit: String(pageSize), ...query, after },
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
      const { domain, code } = await pastedLink(text, {
        shortUrlHost: service.shortUrlHost,
        isActive,
      });
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
    async openEvents(query: EventsQuery, signal: AbortSignal): Promise<AsyncIterable<Message>> {
      const { path } = requestOf('getEvents', { query: { ...query } });
      const headers = { Accept: 'text/event-stream' };
      return readMessages(await openStream(path, { headers }, signal), path);
    },
    /** Opens a file. Its bytes end with the connection. @throws CliError, also while they are read */
    async openBytes(
      operation: 'exportLinks' | 'getImportedRows',
      options: CallOptions,
      signal: AbortSignal,
    ): Promise<AsyncIterable<Buffer>> {
      const { path } = requestOf(operation, options);
      return readBytes(await openStream(path, {}, signal), path);
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
