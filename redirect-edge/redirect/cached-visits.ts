import { decideVisit, type ServedLink } from './decision.js';
import { chooseDestination } from './destination.js';
import { serves, type ServedDomain } from '../domains/served-domain.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { VisitAnalyzer, Visitor } from '../visitors/visit-analyzer.js';

export interface CachedVisitDeps {
  readonly links: Pick<LinkReader, 'peek'>;
  readonly spool: Pick<Spool, 'append'>;
  readonly analyzer: Pick<VisitAnalyzer, 'dataOf'>;
  readonly platform: { readonly maintenance: boolean };
}

/**
 * The most frequent request: GET of a cached link without a password or limit. It costs one record of the spool, and
 * allocates no promise, event or string. Times are milliseconds since the epoch.
 */
export const createCachedVisits = (deps: CachedVisitDeps) => {
  const { links, spool, analyzer, platform } = deps;

  // Bots are redirected, too. Callers exclude requests of Microsoft Office.
  const isRedirected = (link: ServedLink, now: number): boolean =>
    decideVisit(link, { head: false, bot: false, office: false, now }).type === 'redirect';

  return {
    /** The link, if the response is a redirect that only has to be recorded. */
    linkOf(domain: ServedDomain, code: string, now: number): ServedLink | undefined {
      const link = platform.maintenance ? undefined : links.peek(domain.prefix + code, now);
      return link && serves(domain, link) && isRedirected(link, now) ? link : undefined;
    },

    /**
     * Calls `done` when the visit is written, at the end of this event-loop tick, so that the responses of a tick are sent
     * together. After a failure, possibly before `record` returns, the visit must not be redirected.
     *
     * @returns the location of the redirect
     */
    record(visitor: Visitor, link: ServedLink, query: string, now: number, done: Done): string {
      const { subject, account } = link;
      const { location, data } = chooseDestination(analyzer, link, visitor, query, now);
      spool.append({ subject, account, at: now, requestId: visitor.requestId, data }, done);
      return location;
    },
  };
};

export type CachedVisits = ReturnType<typeof createCachedVisits>;
