import { settledWithin } from '../../ops/platform/concurrency/deferred.js';
import { addressOf } from '../../ops/http/client-address.js';
import type { OpenLane } from '../../ops/http/fast-path.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import { isPrefetch } from '../visitors/prefetch.js';
import type { ServedLink } from './decision.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { ClientParts, Judge, Visitor } from '../visitors/judge.js';
import { redirectHead } from './response.js';
import { isCode } from './paths.js';
import type { WarmVisits } from './cached-visits.js';

/** After it, node:http reads the link again, with a deadline of its own. */
const readWithinMs = 100;

/** A connection, which has one request at a time. */
interface Connection {
  /** Of its request. */
  code: string;
  client: ClientParts;
  /** What its requests record while they have the same headers; `null`: to be judged. */
  visitor: Visitor | null;
  /** Answers its request. */
  follow(link: ServedLink | undefined, now: number): void;
  /** Leaves its request to node:http. */
  leave(): void;
}

/**
 * Redirects that need no more than the link. One that is not in memory is read first, or a proxy's connection
 * would leave the lane soon. Everything else, and what fails, is for node:http.
 */
export const createEdgeLane = (deps: {
  readonly links: Pick<LinkReader, 'peek' | 'read' | 'lookups'>;
  readonly platform: { readonly maintenance: boolean };
  readonly requests: RequestRecorder;
  readonly judge: Pick<Judge, 'visitorsOf'>;
  readonly spool: Pick<Spool, 'flush'>;
  readonly warmVisits: WarmVisits;
}): OpenLane => {
  const { links, platform, requests, judge, spool, warmVisits } = deps;
  const durations = requests.of('/:shortCode', 'GET', 302);

  const judgeAll = (strangers: readonly Connection[], now: number): void => {
    const clients = strangers.map(({ client }) => client);
    judge.visitorsOf(clients, now).forEach((visitor, index) => {
      const stranger = strangers[index];
      if (stranger) stranger.visitor = visitor;
    });
  };

  /** Those that have asked in this event-loop tick: to find the links of many at once is faster. */
  let asking: Connection[] = [];
  const followAll = (): void => {
    const connections = asking;
    asking = [];
    const now = Date.now();
    const codes = connections.map(({ code }) => code);
    const found = warmVisits.linksOf(codes, now);
    try {
      judgeAll(
        connections.filter(({ visitor }) => visitor === null),
        now,
      );
    } catch {
      // Whoever is not judged is left to node:http, whose handler meets the same error and reports it.
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
    let isAhead = false;
    let location = '';
    const kept: Done = (failure) => {
      answer(failure ? null : redirectHead(location));
      if (!failure) durations.observeSince(startedAt);
    };
    const leave = (): void => {
      answer(null);
    };

    /** Whether the link is one that needs no more. */
    const redirect = (link: ServedLink | undefined, now: number): boolean => {
      const { visitor } = connection;
      // The page for Microsoft Office, and its marked request, are for node:http.
      if (!link || !visitor || visitor.isOffice) return false;
      location = link.location;
      warmVisits.record(visitor, link, query, now, kept);
      return true;
    };
    const followCold = async (): Promise<void> => {
      const { code } = connection;
      await settledWithin(links.read(code), readWithinMs);
      const now = Date.now();
      if (redirect(warmVisits.linkOf(code, now), now)) links.lookups.misses += 1;
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
        const isCold = isCode(code) && links.peek(code) === undefined;
        if (platform.maintenance || !isCold) leave();
        else followCold().catch(leave);
      },
    };

    return (request) => {
      startedAt = performance.now();
      const { headers } = request;
      if (connection.client.headers !== headers) {
        connection.client = { ...connection.client, headers };
        connection.visitor = null;
        isAhead = isPrefetch(headers);
      }
      if (isAhead) return false;
      connection.code = request.name;
      query = request.query;
      if (asking.push(connection) === 1) setImmediate(followAll);
      return true;
    };
  };
};
