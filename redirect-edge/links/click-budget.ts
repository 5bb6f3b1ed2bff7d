import { decideAll } from '../../ops/ledger/decide.js';
import { ledgerLinks } from '../../ops/ledger/links.js';
import { createBatcher, type Batcher } from '../../ops/platform/concurrency/batcher.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { ownActors } from '../../schemas/decision.js';
import { clickDecider, type ClickRefusal } from './click.js';
import type { VisitData } from '../../ops/visitors/visit-data.js';

/** A visitor who follows a link with a limit. */
interface LimitedVisit {
  readonly subject: string;
  readonly requestId: string;
  readonly data: VisitData;
}

type ClickOutcome = 'taken' | ClickRefusal['type'];

/** Takes clicks of limited links, in groups. The count and the event are written in one transaction. */
export class ClickBudget {
  readonly #batcher: Batcher<LimitedVisit, ClickOutcome>;

  constructor(pool: Pool, outbox: Outbox) {
    const run = async (visits: readonly LimitedVisit[]): Promise<readonly ClickOutcome[]> => {
      const { results } = await decideAll(
        { pool, outbox },
        ledgerLinks,
        clickDecider,
        visits.map(({ subject, requestId, data }) => ({
          ...{ type: 'TakeClick', subject, data },
          metadata: { actor: ownActors.visitor, requestId },
        })),
      );
      return results.map(({ decision }) =>
        decision.type === 'refused' ? decision.refusal.type : 'taken',
      );
    };
    this.#batcher = createBatcher({
      maxBatch: 500,
      maxWaiting: 10_000,
      run,
      mayBeCausedByOneCommand,
    });
  }

  /** @throws Overloaded; OutcomeUnknown: the click may be spent, so the visitor gets no redirect. */
  take(visit: LimitedVisit): Promise<ClickOutcome> {
    return this.#batcher.submit(visit);
  }
}
