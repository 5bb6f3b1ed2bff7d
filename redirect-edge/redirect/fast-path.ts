import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
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

/** Time until node:http reads the link again, with its own deadline (ms). */
const readWithinMs = 100;

/** A connection, with at most one request in progress. */
interface Connection {
  /** The short code of the current request. */
  code: string;
  client: ClientParts;
  /** The visitor, while requests have the same headers; `null`: not determined yet. */
  visitor: Visitor | null;
  /** Responds to the current request. */
  respond(link: ServedLink | undefined, now: number): void;
  /** Passes the current request to node:http. */
  fallBack(): void;
}

/**
 * The fast path: redirects that need only the link. An uncached link is read first, because a fallback would move the
 * connection of a proxy to node:http permanently. Other requests, and failures, fall back to node:http.
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
  const durations = requests.durationsOf('/:shortCode', 'GET', 302);

  const determineVisitors = (connections: readonly Connection[], now: number): void => {
    const clients = connections.map(({ client }) => client);
    analyzer.visitorsOf(clients, now).forEach((visitor, index) => {
      const connection = connections[index];
      if (connection) connection.visitor = visitor;
    });
  };

  /** Connections with a request in this event-loop tick. Looking up their links together is faster. */
  let waiting: Connection[] = [];
  const respondToAll = (): void => {
    const connections = waiting;
    waiting = [];
    const now = Date.now();
    const codes = connections.map(({ code }) => code);
    const cachedLinks = cachedVisits.linksOf(codes, now);
    try {
      determineVisitors(
        connections.filter(({ visitor }) => visitor === null),
        now,
      );
    } catch {
      // Requests without a visitor fall back to node:http, whose handler gets the same error and reports it.
    }
    connections.forEach((connection, index) => {
      try {
        connection.respond(cachedLinks[index], now);
      } catch {
        // The handler of node:http gets the same error and reports it.
        connection.fallBack();
      }
    });
    spool.flush();
  };

  return (socket, respond) => {
    let query = '';
    let startedAt = 0;
    let isSpeculative = false;
    let location = '';
    const done: Done = (failure) => {
      respond(failure ? null : redirectHead(location));
      if (!failure) durations.observeSince(startedAt);
    };
    const fallBack = (): void => {
      respond(null);
    };

    /** Records the visit and redirects. Returns `false` if the request needs more than that. */
    const redirect = (link: ServedLink | undefined, now: number): boolean => {
      const { visitor } = connection;
      // Requests of Microsoft Office fall back to node:http.
      if (!link || !visitor || visitor.isOffice) return false;
      location = link.location;
      cachedVisits.record(visitor, link, query, now, done);
      return true;
    };
    const redirectUncached = async (): Promise<void> => {
      const { code } = connection;
      await endsWithin(links.read(code), readWithinMs);
      const now = Date.now();
      if (redirect(cachedVisits.linkOf(code, now), now)) links.lookups.misses += 1;
      else fallBack();
    };
    const connection: Connection = {
      code: '',
      client: { peer: addressOf(socket), headers: {} },
      visitor: null,
      fallBack,
      respond(link, now) {
        const { code } = connection;
        if (redirect(link, now)) {
          links.lookups.hits += 1;
          return;
        }
        const isUncached = isCode(code) && links.peek(code) === undefined;
        if (platform.maintenance || !isUncached) fallBack();
        else redirectUncached().catch(fallBack);
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
      if (waiting.push(connection) === 1) setImmediate(respondToAll);
      return true;
    };
  };
};
