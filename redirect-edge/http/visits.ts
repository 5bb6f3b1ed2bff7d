import type { IncomingMessage } from 'node:http';
import { requestIdOf } from '../../ops/platform/http/request-id.js';
import type { ClickBudget } from '../links/click-budget.js';
import type { ServedLink } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Spool } from '../spool/spool.js';

export interface VisitDeps {
  readonly links: Pick<LinkReader, 'forget'>;
  readonly clicks: ClickBudget;
  /** Writes down the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
}

/** The two ways in which a visit is counted before its redirect, by GET or by a password. */
export interface Visits {
  /** Resolves when the visit is written down. */
  record(request: IncomingMessage, link: ServedLink, bot: boolean, now: number): Promise<void>;
  /** Takes one of the clicks of a limited link, if the ledger has one left. */
  takeClick(request: IncomingMessage, link: ServedLink): ReturnType<ClickBudget['take']>;
}

export const createVisits = ({ links, clicks, spool }: VisitDeps): Visits => ({
  // The hot path: no promise and no object more than the spool needs.
  record: (request, { code, account }, bot, now) =>
    spool.append({
      code,
      account,
      bot,
      at: new Date(now),
      requestId: requestIdOf(request.headers['x-request-id']),
    }),

  async takeClick(request, { code }) {
    const requestId = requestIdOf(request.headers['x-request-id']);
    const outcome = await clicks.take({ code, requestId });
    // What is in memory did not know it yet.
    if (outcome !== 'taken') links.forget(code);
    return outcome;
  },
});
