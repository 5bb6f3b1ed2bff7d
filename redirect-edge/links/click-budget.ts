import { decideAll } from '../../ops/ledger/decide.js';
import { ledgerLinks } from '../../ops/ledger/links.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { decideClick, type ClickRefusal } from '../domain/click.js';

const maxGroup = 500;
const maxWaiting = 10_000;

/** A visitor of a link with a limit, who wants one of its clicks. */
export interface TakeClick {
  readonly code: string;
  readonly requestId: string;
}

export type ClickOutcome = 'taken' | ClickRefusal;

export interface ClickBudget {
  /** @throws Overloaded; OutcomeUnknown: the click may be spent, so the visitor gets no redirect. */
  take(command: TakeClick): Promise<ClickOutcome>;
}

/** Where clicks of limited links are taken: budget and event in one transaction, in groups. */
export const createClickBudget = (pool: Pool, outbox: Outbox): ClickBudget => {
  const run = (commands: readonly TakeClick[]): Promise<readonly ClickOutcome[]> =>
    transaction(pool, async (tx) => {
      const { results } = await decideAll(
        tx,
        outbox,
        ledgerLinks,
        commands.map(({ code: subject, requestId }) => ({
          subject,
          actor: 'visitor',
          requestId,
          decide: decideClick,
        })),
      );
      return results.map(({ decision }) => {
        return decision.type === 'refused' ? decision.reason : 'taken';
      });
    });

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run });
  return { take: (command) => batcher.submit(command) };
};
