import type { LedgerClock } from '../../../ops/ledger/clock.js';
import { prepareIn, recordIn } from '../../../ops/ledger/decide.js';
import { areLinksDue, ledgerLinks, lockDueLinks } from '../../../ops/ledger/links.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { transaction, type Pool } from '../../../ops/platform/postgres/pool.js';
import { ownActors } from '../../../schemas/decision.js';
import { expireLinkDecider } from './command.js';

const pageSize = 500;

/**
 * Writes LinkExpired for one page of due links; returns their number. All nodes may run this concurrently: locked rows are
 * skipped.
 */
export const expireDueLinks = async (
  pool: Pool,
  outbox: Outbox,
  clock: LedgerClock,
): Promise<number> => {
  if (!(await areLinksDue(pool, clock))) return 0;
  return transaction(pool, async (tx) => {
    const due = await lockDueLinks(tx, pageSize, clock);
    if (due.size === 0) return 0;
    const prepared = await prepareIn(
      tx,
      // The rows are locked already. Edges check `expiresAt` themselves, so they need no notification.
      { ...ledgerLinks, lock: () => Promise.resolve(due), changeOf: () => null },
      expireLinkDecider,
      [...due.keys()].map((subject) => ({
        type: 'ExpireLink' as const,
        subject,
        data: null,
        metadata: { actor: ownActors.system, requestId: null },
      })),
    );
    await recordIn(tx, outbox, prepared);
    return prepared.results.filter(({ decision }) => decision.type === 'accepted').length;
  });
};
