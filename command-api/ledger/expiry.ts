import { decideAll } from '../../ops/ledger/decide.js';
import { ledgerLinks, lockDueLinks } from '../../ops/ledger/links.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { decideExpireLink } from '../domain/link.js';

const pageSize = 500;

/**
 * Writes LinkExpired for links whose time is up, a page at a time; returns how many. Any node may
 * do it at any time: rows that another one holds are passed over, and the lock decides who writes.
 */
export const expireDueLinks = (pool: Pool, outbox: Outbox): Promise<number> =>
  transaction(pool, async (tx) => {
    const due = await lockDueLinks(tx, pageSize);
    if (due.size === 0) return 0;
    const { results } = await decideAll(
      tx,
      outbox,
      // They are locked already. Edges compare the end of a link themselves: no notice is needed.
      { ...ledgerLinks, lock: () => Promise.resolve(due), changeOf: () => null },
      [...due.keys()].map((subject) => ({
        subject,
        actor: 'system',
        requestId: null,
        decide: decideExpireLink,
      })),
    );
    return results.filter(({ decision }) => decision.type === 'accepted').length;
  });
