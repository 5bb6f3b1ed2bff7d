import { namedRequestId } from '../../ops/platform/http/request-id.js';
import { isPrefetch } from '../domain/prefetch.js';
import { answerVisit } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { SpoolUnavailable } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { Judge, VisitRequestParts } from '../visitors/judge.js';

export interface WarmVisitDeps {
  readonly links: Pick<LinkReader, 'peek'>;
  readonly spool: Pick<Spool, 'append'>;
  readonly judge: Judge;
  readonly platform: { readonly maintenance: boolean };
}

/** `failure`: the visit is not kept, so it must not be redirected. */
export type Redirect = (location: string, failure: SpoolUnavailable | null) => void;

/**
 * What nearly all requests of an edge are: GET of a link that is in memory and that everybody may follow.
 * It costs one record of the spool; no promise, no event, no text is made.
 *
 * The function that it returns calls `redirect` once the visit is written down, after all others of this
 * event-loop tick have come, so that the answers of a tick are sent together. It returns `false` where more
 * has to be done for an answer than that; then it has done nothing.
 */
export const createWarmVisits = (deps: WarmVisitDeps) => {
  const { links, spool, judge, platform } = deps;
  return (code: string, request: VisitRequestParts, redirect: Redirect): boolean => {
    const { headers } = request;
    const link = platform.maintenance || isPrefetch(headers) ? undefined : links.peek(code);
    if (!link) return false;
    const now = Date.now();
    // Whoever it is: what a bot is told apart by makes no difference to a link that everybody may follow.
    if (answerVisit(link, { head: false, bot: false, now }).type !== 'redirect') return false;
    const { account, location } = link;
    const requestId = namedRequestId(headers['x-request-id']);
    const facts = judge(request, link, now);
    spool.append({ code, account, at: now, requestId, facts }, (failure) => {
      redirect(location, failure);
    });
    return true;
  };
};

export type WarmVisits = ReturnType<typeof createWarmVisits>;
