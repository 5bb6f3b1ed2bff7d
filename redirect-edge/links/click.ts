import {
  accepted,
  nextEvent,
  refused,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { LedgerLinkState } from '../../schemas/folds/ledger-link.js';
import { statusAt, statusOf } from '../../schemas/folds/link-status.js';
import type { NoRedirect } from '../redirect/decision.js';
import type { VisitFacts } from '../visitors/visit-facts.js';

export type ClickRefusal = NoRedirect['type'];

/** Takes one click of a limited link. The last click expires the link. */
export const decideClick = (
  facts: VisitFacts,
  link: LedgerLinkState,
  context: DecisionContext,
): Decision<EventNamed<'LinkVisited' | 'LinkExpired'>, ClickRefusal> => {
  if (link.status === 'none') return refused('notFound');
  const { code: subject, maxClicks, clicks, account } = link;
  const startsAt = link.startsAt?.getTime() ?? null;
  const expiresAt = link.expiresAt?.getTime() ?? null;
  const status = statusAt(statusOf(link), startsAt, expiresAt, context.now.getTime());
  if (status === 'scheduled') return refused('notFound');
  if (status !== 'active') return refused(status);
  if (maxClicks !== null && clicks >= maxClicks) return refused('expired');

  const click = clicks + 1;
  const visited = newEvent(
    'LinkVisited',
    { click, ...facts },
    { ...nextEvent(link, context), subject, account, sequence: link.visitSequence + 1 },
  );
  if (click !== maxClicks) return accepted(visited);
  const causationId = visited.id;
  const metadata = { ...nextEvent(link, context), subject, account, causationId };
  const expired = newEvent('LinkExpired', { reason: 'clicks' }, metadata);
  return { type: 'accepted', events: [visited, expired] };
};
