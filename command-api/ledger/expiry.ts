import { v7 as uuidv7 } from 'uuid';
import { lockDueLinks, saveLinks } from '../../ops/ledger/links.js';
import { ledgerNow } from '../../ops/ledger/clock.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { evolveLedgerLink } from '../../schemas/folds/ledger-link.js';
import { decideExpireLink } from '../domain/link.js';

const pageSize = 500;

/**
 * Writes LinkExpired for links whose time is up, a page at a time; returns how many. Any node may
 * do it at any time: rows that another one holds are passed over, and the lock decides who writes.
 */
export const expireDueLinks = (pool: Pool, outbox: Outbox): Promise<number> =>
  transaction(pool, async (tx) => {
    const due = await lockDueLinks(tx, pageSize);
    if (due.length === 0) return 0;
    const now = await ledgerNow(tx);
    const decided = due.flatMap((link) => {
      const decision = decideExpireLink(link, { now, eventId: uuidv7() });
      return decision.type === 'accepted' ? [{ link, event: decision.event }] : [];
    });
    const links = decided.map(({ link, event }) => evolveLedgerLink(link, event));
    await saveLinks(
      tx,
      links.flatMap((link) => (link.status === 'taken' ? [link] : [])),
    );
    await outbox.record(
      tx,
      decided.map(({ event }) => event),
    );
    return decided.length;
  });
