import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { statusAt, statusOf } from '../../schemas/folds/link-status.js';
import type { NoRedirect } from '../redirect/decision.js';
import type { VisitData } from '../../ops/visitors/visit-data.js';

/** Takes one click of a link with a limit. */
export type TakeClick = Command<'TakeClick', VisitData>;

export interface ClickRefusal {
  readonly type: NoRedirect['type'];
}

/** The last click expires the link. */
export const clickDecider: Decider<TakeClick, LedgerLinkEvent, LedgerLinkState, ClickRefusal> = {
  initialState,
  evolve: evolveLedgerLink,
  decide({ data, metadata: command }, link) {
    if (link.status === 'none') return refused({ type: 'notFound' });
    const { subject, maxClicks, clicks, account } = link;
    const startsAt = link.startsAt?.getTime() ?? null;
    const expiresAt = link.expiresAt?.getTime() ?? null;
    const status = statusAt(statusOf(link), startsAt, expiresAt, command.now.getTime());
    if (status === 'scheduled') return refused({ type: 'notFound' });
    if (status !== 'active') return refused({ type: status });
    if (maxClicks !== null && clicks >= maxClicks) return refused({ type: 'expired' });

    const click = clicks + 1;
    const sequence = link.visitSequence + 1;
    const metadata = { ...nextEvent(link, command), subject, account, sequence };
    const visited = newEvent('LinkVisited', { click, ...data }, metadata);
    if (click !== maxClicks) return accepted(visited);
    const causationId = visited.id;
    const next = { ...nextEvent(link, command, 1), subject, account, causationId };
    return accepted<LedgerLinkEvent>(visited, newEvent('LinkExpired', { reason: 'clicks' }, next));
  },
};
