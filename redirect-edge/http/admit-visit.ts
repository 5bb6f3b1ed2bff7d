import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestIdOf } from '../../ops/platform/request-id.js';
import type { ClickDesk } from '../clicks/click-desk.js';
import type { ServedLink } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Spool } from '../spool/spool.js';
import { sendFailure, sendRedirect } from './answer.js';

/** A visitor who may be redirected, and how. */
export interface Admitted {
  readonly link: ServedLink;
  readonly bot: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly status: 302 | 303;
}

export interface VisitDeps {
  readonly links: Pick<LinkReader, 'forget'>;
  readonly clicks: ClickDesk;
  /** Writes down the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
}

/** The two ways in which a redirect is counted, for those who come by GET and by a password. */
export const createVisits = ({ links, clicks, spool }: VisitDeps) => ({
  /** Written down first, redirected then. */
  async record(
    request: IncomingMessage,
    response: ServerResponse,
    { link, bot, now, status }: Admitted,
  ): Promise<void> {
    const { code, account } = link;
    const requestId = requestIdOf(request.headers['x-request-id']);
    await spool.append({ code, account, bot, at: new Date(now), requestId });
    sendRedirect(response, link.location, status);
  },

  /** Redirected if the ledger has a click left. */
  async takeClick(
    request: IncomingMessage,
    response: ServerResponse,
    { link, status }: Admitted,
  ): Promise<void> {
    const requestId = requestIdOf(request.headers['x-request-id']);
    const outcome = await clicks.take({ code: link.code, requestId });
    if (outcome === 'taken') {
      sendRedirect(response, link.location, status);
      return;
    }
    // What is in memory did not know it yet.
    links.forget(link.code);
    sendFailure(request, response, outcome);
  },
});

export type Visits = ReturnType<typeof createVisits>;
