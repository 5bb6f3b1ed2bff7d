import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { notifyChange } from '../../ops/ledger/changes.js';
import { lockLinks, saveLinks } from '../../ops/ledger/links.js';
import { ledgerNow } from '../../ops/ledger/clock.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import {
  evolveLedgerLink,
  freeCode,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { decideClick, type ClickDecision, type TakeClick } from '../domain/click.js';

const maxGroup = 500;
const maxWaiting = 10_000;

export interface ClickBudget {
  /** @throws Overloaded; OutcomeUnknown: the click may be spent, so the visitor gets no redirect. */
  take(command: TakeClick): Promise<'taken' | 'expired' | 'blocked' | 'notFound'>;
}

/** Where clicks of limited links are taken: budget and event in one transaction, in groups. */
export const createClickBudget = (pool: Pool, outbox: Outbox): ClickBudget => {
  const run = (commands: readonly TakeClick[]): Promise<readonly ClickDecision[]> =>
    transaction(pool, async (tx) => {
      const codes = [...new Set(commands.map(({ code }) => code))];
      const links = new Map<string, LedgerLinkState>(await lockLinks(tx, codes));
      const now = await ledgerNow(tx);
      const changed = new Set<string>();
      const events: LinklogEvent[] = [];
      const decisions = commands.map((command) => {
        const link = links.get(command.code) ?? freeCode;
        const decision = decideClick(command, link, { now, newId: uuidv7 });
        if (decision.type === 'taken') {
          links.set(command.code, decision.events.reduce(evolveLedgerLink, link));
          changed.add(command.code);
          events.push(...decision.events);
        }
        return decision;
      });
      await saveLinks(
        tx,
        [...changed].flatMap((code) => {
          const link = links.get(code);
          return link?.status === 'taken' ? [link] : [];
        }),
      );
      for (const { type, subject: code, sequence } of events) {
        // Other edges have the link in memory, and would show it to those who take no click.
        if (type === 'linklog.LinkExpired.v1')
          await notifyChange(tx, { kind: 'link', code, sequence });
      }
      await outbox.record(tx, events);
      return decisions;
    });

  const batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run });
  return {
    async take(command) {
      const decision = await batcher.submit(command);
      return decision.type === 'taken' ? 'taken' : decision.reason;
    },
  };
};
