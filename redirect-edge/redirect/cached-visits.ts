import { answerVisit, type ServedLink } from './decision.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { Judge, Visitor } from '../visitors/judge.js';

export interface WarmVisitDeps {
  readonly links: Pick<LinkReader, 'peek' | 'peekAll'>;
  readonly spool: Pick<Spool, 'append'>;
  readonly judge: Pick<Judge, 'factsOf'>;
  readonly platform: { readonly maintenance: boolean };
}

/**
 * What nearly all requests of an edge are: GET of a link that is in memory and that everybody may follow.
 * It costs one record of the spool; no promise, no event, no text is made. Times are milliseconds since the
 * epoch.
 */
export const createWarmVisits = (deps: WarmVisitDeps) => {
  const { links, spool, judge, platform } = deps;

  // Bots are redirected too. The callers leave Microsoft Office to the slower path.
  const isWarm = (link: ServedLink, now: number): boolean =>
    answerVisit(link, { head: false, bot: false, office: false, now }).type === 'redirect';
  const warm = (link: ServedLink | undefined, now: number): ServedLink | undefined =>
    link && !platform.maintenance && isWarm(link, now) ? link : undefined;

  return {
    /** The link, unless more has to be done for an answer than to write the visit down. */
    linkOf: (code: string, now: number): ServedLink | undefined => warm(links.peek(code, now), now),

    /** The same of many at once, which is faster. */
    linksOf: (codes: readonly string[], now: number): (ServedLink | undefined)[] =>
      links.peekAll(codes, now).map((link) => warm(link, now)),

    /**
     * Calls `done` once the visit is written down: at the spool's `flush`, or after all others of this event-loop
     * tick have come, so that the answers of a tick are sent together. With a failure, maybe at once, where it is not kept: it
     * must not be redirected then.
     */
    record(visitor: Visitor, link: ServedLink, query: string, now: number, done: Done): void {
      const { code, account } = link;
      const facts = judge.factsOf(visitor, link, query, now);
      spool.append({ code, account, at: now, requestId: visitor.requestId, facts }, done);
    },
  };
};

export type WarmVisits = ReturnType<typeof createWarmVisits>;
