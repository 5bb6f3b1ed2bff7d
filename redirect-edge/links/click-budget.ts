import { decideAll } from '../../ops/ledger/decide.js';
import { ledgerLinks } from '../../ops/ledger/links.js';
import { createBatcher, type Batcher } from '../../ops/platform/concurrency/batcher.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { type Pool, mayBlameOne } from '../../ops/platform/postgres/pool.js';
import { ownActors } from '../../schemas/decision.js';
import { decideClick, type ClickRefusal } from './click.js';
import type { VisitFacts } from '../visitors/visit-facts.js';

const maxGroup = 500;
const maxWaiting = 10_000;

/** Takes one click of a link with a limit. */
export interface TakeClick {
  readonly code: string;
  readonly requestId: string;
  readonly facts: VisitFacts;
}

export type ClickOutcome = 'taken' | ClickRefusal;

/** Takes clicks of limited links, in groups. The count and the event are written in one transaction. */
export class ClickBudget {
  readonly #batcher: Batcher<TakeClick, ClickOutcome>;

  constructor(pool: Pool, outbox: Outbox) {
    const run = async (commands: readonly TakeClick[]): Promise<readonly ClickOutcome[]> => {
      const { results } = await decideAll(
        { pool, outbox },
        ledgerLinks,
        commands.map(({ code: subject, requestId, facts }) => ({
          subject,
          actor: ownActors.visitor,
          requestId,
          decide: (link, context) => decideClick(facts, link, context),
        })),
      );
      return results.map(({ decision }) =>
        decision.type === 'refused' ? decision.reason : 'taken',
      );
    };
    this.#batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBlameOne });
  }

  /** @throws Overloaded, or OutcomeUnknown: the click may be taken, and the visitor gets no redirect */
  take(command: TakeClick): Promise<ClickOutcome> {
    return this.#batcher.submit(command);
  }
}
