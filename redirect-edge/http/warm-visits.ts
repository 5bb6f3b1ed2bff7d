import { namedRequestId } from '../../ops/platform/http/request-id.js';
import { answerVisit, type ServedLink } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Done } from '../spool/appender.js';
import type { Spool } from '../spool/spool.js';
import type { ClientParts, Judge, Visitor } from '../visitors/judge.js';

export interface WarmVisitDeps {
  readonly links: Pick<LinkReader, 'peek'>;
  readonly spool: Pick<Spool, 'append'>;
  readonly judge: Judge;
  readonly platform: { readonly maintenance: boolean };
}

/** What a request's headers and its connection tell of the client. */
export interface Client {
  readonly visitor: Visitor;
  readonly requestId: string | undefined;
}

/**
 * What nearly all requests of an edge are: GET of a link that is in memory and that everybody may follow.
 * It costs one record of the spool; no promise, no event, no text is made. Times are milliseconds since the
 * epoch.
 */
export const createWarmVisits = (deps: WarmVisitDeps) => {
  const { links, spool, judge, platform } = deps;
  return {
    /** The link, unless more has to be done for an answer than to write the visit down. */
    linkOf(code: string, now: number): ServedLink | undefined {
      const link = platform.maintenance ? undefined : links.peek(code, now);
      if (!link) return undefined;
      // Whoever it is: what a bot is told apart by makes no difference to a link that everybody may follow.
      const { type } = answerVisit(link, { head: false, bot: false, now });
      return type === 'redirect' ? link : undefined;
    },

    clientOf(request: ClientParts, now: number): Client {
      const requestId = namedRequestId(request.headers['x-request-id']);
      return { visitor: judge.visitorOf(request, now), requestId };
    },

    /**
     * Calls `done` once the visit is written down, after all others of this event-loop tick have come, so
     * that the answers of a tick are sent together. With a failure, maybe at once, where it is not kept: it
     * must not be redirected then.
     */
    record(
      { visitor, requestId }: Client,
      link: ServedLink,
      query: string,
      now: number,
      done: Done,
    ): void {
      const { code, account } = link;
      const facts = judge.factsOf(visitor, link, query, now);
      spool.append({ code, account, at: now, requestId, facts }, done);
    },
  };
};

export type WarmVisits = ReturnType<typeof createWarmVisits>;
