import { settledWithin } from '../../ops/platform/concurrency/deferred.js';
import { addressOf } from '../../ops/http/client-address.js';
import type { FastPath } from '../../ops/http/fast-path.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import { isPrefetch } from '../visitors/prefetch.js';
import type { ServedLink } from './decision.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { ClientParts, VisitAnalyzer, Visitor } from '../visitors/visit-analyzer.js';
import { redirectHead } from './response.js';
import { isCode } from './paths.js';
import type { CachedVisits } from './cached-visits.js';

/** Then node:http reads the link again, with its own deadline (ms). */
const readWithinMs = 100;

/** A connection. It has one request at a time. */
interface Connection {
  /** The short code of the current request. */
  code: string;
  client: ClientParts;
  /** The visitor, while requests have the same headers; `null`: not determined yet. */
  visitor: Visitor | null;
  /** Answers the current request. */
  follow(link: ServedLink | undefined, now: number): void;
  /** Leaves the current request to node:http. */
  leave(): void;
}

/**
 * The fast path: redirects that need only the link. An uncached link is read first; otherwise connections of proxies
 * would soon leave the fast path. Other requests, and failures, are left to node:http.
 */
export const createEdgeFastPath = (deps: {
  readonly links: Pick<LinkReader, 'peek' | 'read' | 'lookups'>;
  readonly platform: { readonly maintenance: boolean };
  readonly requests: RequestRecorder;
  readonly analyzer: Pick<VisitAnalyzer, 'visitorsOf'>;
  readonly spool: Pick<Spool, 'flush'>;
  readonly cachedVisits: CachedVisits;
}): FastPath => {
  const { links, platform, requests, analyzer, spool, cachedVisits } = deps;
  const durations = requests.of('/:shortCode', 'GET', 302);

  const determineVisitors = (connections: readonly Connection[], now: number): void => {
    const clients = connections.map(({ client }) => client);
    analyzer.visitorsOf(clients, now).forEach((visitor, index) => {
      const connection = connections[index];
      if (connection) connection.visitor = visitor;
    });
  };

  /** Connections with a request in this event-loop tick. Looking up their links together is faster. */
  let waiting: Connection[] = [];
  const followAll = (): void => {
    const connections = waiting;
    waiting = [];
    const now = Date.now();
    const codes = connections.map(({ code }) => code);
    const found = cachedVisits.linksOf(codes, now);
    try {
      determineVisitors(
        connections.filter(({ visitor }) => visitor === null),
        now,
      );
    } catch {
      // Requests without a visitor are left to node:http, whose handler meets the same error and reports it.
    }
    connections.forEach((connection, index) => {
      try {
        connection.follow(found[index], now);
      } catch {
        // The handler of node:http meets the same error and reports it.
        connection.leave();
      }
    });
    spool.flush();
  };

  return (socket, answer) => {
    let query = '';
    let startedAt = 0;
    let isSpeculative = false;
    let location = '';
    const done: Done = (failure) => {
      answer(failure ? null : redirectHead(location));
      if (!failure) durations.observeSince(startedAt);
    };
    const leave = (): void => {
      answer(null);
    };

    /** Records the visit and redirects. Returns `false` if the request needs more than that. */
    const redirect = (link: ServedLink | undefined, now: number): boolean => {
      const { visitor } = connection;
      // Requests of Microsoft Office are left to node:http.
      if (!link || !visitor || visitor.isOffice) return false;
      location = link.location;
      cachedVisits.record(visitor, link, query, now, done);
      return true;
    };
    const redirectUncached = async (): Promise<void> => {
      const { code } = connection;
      await settledWithin(links.read(code), readWithinMs);
      const now = Date.now();
      if (redirect(cachedVisits.linkOf(code, now), now)) links.lookups.misses += 1;
      else leave();
    };
    const connection: Connection = {
      code: '',
      client: { peer: addressOf(socket), headers: {} },
      visitor: null,
      leave,
      follow(link, now) {
        const { code } = connection;
        if (redirect(link, now)) {
          links.lookups.hits += 1;
          return;
        }
        const isUncached = isCode(code) && links.peek(code) === undefined;
        if (platform.maintenance || !isUncached) leave();
        else redirectUncached().catch(leave);
      },
    };

    return (request) => {
      startedAt = performance.now();
      const { headers } = request;
      if (connection.client.headers !== headers) {
        connection.client = { ...connection.client, headers };
        connection.visitor = null;
        isSpeculative = isPrefetch(headers);
      }
      if (isSpeculative) return false;
      connection.code = request.name;
      query = request.query;
      if (waiting.push(connection) === 1) setImmediate(followAll);
      return true;
    };
  };
};
