import { settledWithin } from '../../ops/platform/concurrency/deferred.js';
import type { LaneHandler } from '../../ops/platform/http/lane.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import type { LinkReader } from '../links/link-reader.js';
import { isPrefetch } from '../domain/prefetch.js';
import { pathOf, redirectHead } from './answer.js';
import { routeOf } from './paths.js';
import type { WarmVisits } from './warm-visits.js';

/** After it, node:http reads the link again, with a deadline of its own. */
const readWithinMs = 100;

/**
 * Redirects that need no more than the link. One that is not in memory is read first, or a proxy's connection
 * would leave the lane soon. Everything else, and what fails, is for node:http.
 */
export const createEdgeLane = (deps: {
  readonly links: Pick<LinkReader, 'peek' | 'read' | 'lookups'>;
  readonly platform: { readonly maintenance: boolean };
  readonly requests: RequestRecorder;
  readonly warmVisits: WarmVisits;
}): LaneHandler => {
  const { links, platform, requests, warmVisits } = deps;
  return (request, answer) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    const code = path.slice(1);
    const redirect = (): boolean =>
      warmVisits(code, request, (location, failure) => {
        answer(failure ? null : redirectHead(location));
        if (!failure) requests.record('/:shortCode', 'GET', 302, startedAt);
      });
    if (redirect()) {
      links.lookups.hits += 1;
      return true;
    }
    const isCold = routeOf(path) === '/:shortCode' && links.peek(code) === undefined;
    if (platform.maintenance || isPrefetch(request.headers) || !isCold) return false;
    settledWithin(links.read(code), readWithinMs)
      .then(() => {
        if (redirect()) links.lookups.misses += 1;
        else answer(null);
      })
      .catch(() => {
        answer(null);
      });
    return true;
  };
};
