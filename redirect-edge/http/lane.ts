import { settledWithin } from '../../ops/platform/concurrency/deferred.js';
import { addressOf } from '../../ops/platform/http/client-address.js';
import type { OpenLane, PlainRequest } from '../../ops/platform/http/lane.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import type { LinkReader } from '../links/link-reader.js';
import { isPrefetch } from '../domain/prefetch.js';
import type { Done } from '../spool/appender.js';
import { redirectHead } from './answer.js';
import { routeOf } from './paths.js';
import type { Client, WarmVisits } from './warm-visits.js';

/** After it, node:http reads the link again, with a deadline of its own. */
const readWithinMs = 100;

/** What the headers of a connection's last request tell. */
interface Known extends Pick<PlainRequest, 'headers'> {
  readonly client: Client;
  readonly isPrefetch: boolean;
}

/**
 * Redirects that need no more than the link. One that is not in memory is read first, or a proxy's connection
 * would leave the lane soon. Everything else, and what fails, is for node:http.
 */
export const createEdgeLane = (deps: {
  readonly links: Pick<LinkReader, 'peek' | 'read' | 'lookups'>;
  readonly platform: { readonly maintenance: boolean };
  readonly requests: RequestRecorder;
  readonly warmVisits: WarmVisits;
}): OpenLane => {
  const { links, platform, requests, warmVisits } = deps;
  const durations = requests.of('/:shortCode', 'GET', 302);
  return (socket, answer) => {
    const peer = addressOf(socket);
    let known: Known | undefined;
    // Of the request that waits for its answer: a connection has one at a time.
    let startedAt = 0;
    let location = '';

    const kept: Done = (failure) => {
      answer(failure ? null : redirectHead(location));
      if (!failure) durations.observeSince(startedAt);
    };
    const knownOf = ({ headers }: PlainRequest, now: number): Known => {
      if (known?.headers !== headers) {
        const client = warmVisits.clientOf({ headers, peer }, now);
        known = { client, headers, isPrefetch: isPrefetch(headers) };
      }
      return known;
    };
    const redirect = (
      client: Client,
      code: string,
      { query }: PlainRequest,
      now: number,
    ): boolean => {
      const link = warmVisits.linkOf(code, now);
      if (!link) return false;
      location = link.location;
      warmVisits.record(client, link, query, now, kept);
      return true;
    };

    return (request) => {
      startedAt = performance.now();
      const now = Date.now();
      const { name: code } = request;
      const { client, isPrefetch: isAhead } = knownOf(request, now);
      if (isAhead) return false;
      if (redirect(client, code, request, now)) {
        links.lookups.hits += 1;
        return true;
      }
      const isCold = routeOf(`/${code}`) === '/:shortCode' && links.peek(code) === undefined;
      if (platform.maintenance || !isCold) return false;
      settledWithin(links.read(code), readWithinMs)
        .then(() => {
          if (redirect(client, code, request, Date.now())) links.lookups.misses += 1;
          else answer(null);
        })
        .catch(() => {
          answer(null);
        });
      return true;
    };
  };
};
