import { v7 as uuidv7 } from 'uuid';
import { notifyChange } from '../../ops/platform/changes.js';
import { lockClaims, saveClaims } from '../../ops/platform/ledger/claims.js';
import { ledgerNow } from '../../ops/platform/ledger/clock.js';
import { nothingRecorded, type Outbox, type Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { evolveClaim, freeCode } from '../../schemas/folds/claim.js';
import { decideLinkBlock, type LinkBlockCommand } from '../domain/link-block.js';
import type { Asker } from './api-keys.js';

export interface LinkBlockDesk {
  /** Decides a block or an unblock, records its event and tells every edge, in one transaction. */
  handle(code: string, command: LinkBlockCommand, asker: Asker): Promise<Receipt | 'notFound'>;
}

export const createLinkBlockDesk = (pool: Pool, outbox: Outbox): LinkBlockDesk => ({
  handle: (code, command, asker) =>
    transaction(pool, async (tx) => {
      const claim = (await lockClaims(tx, [code])).get(code) ?? freeCode;
      const now = await ledgerNow(tx);
      const decision = decideLinkBlock(command, claim, { ...asker, now, newId: uuidv7 });
      if (decision.type === 'refused') return decision.reason;
      if (decision.type === 'accepted') {
        const next = evolveClaim(claim, decision.event);
        await saveClaims(tx, next.status === 'claimed' ? [next] : []);
        await notifyChange(tx, { kind: 'link', code });
        return outbox.record(tx, [decision.event]);
      }
      return nothingRecorded;
    }),
});
