import { v7 as uuidv7 } from 'uuid';
import { notifyChange } from '../../ops/ledger/changes.js';
import { lockLinks, saveLinks } from '../../ops/ledger/links.js';
import { ledgerNow } from '../../ops/ledger/clock.js';
import { nothingRecorded, type Outbox, type Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { evolveLedgerLink, freeCode } from '../../schemas/folds/ledger-link.js';
import { decideLinkBlock, type LinkBlockCommand } from '../domain/link-block.js';
import type { Actor } from './api-keys.js';

export interface LinkBlockHandler {
  /** Decides a block or an unblock, records its event and tells every edge, in one transaction. */
  handle(code: string, command: LinkBlockCommand, actor: Actor): Promise<Receipt | 'notFound'>;
  /** The same for what the web-safety check has found. @returns the codes that are blocked now */
  blockUnsafe(codes: readonly string[], reason: string, actor: Actor): Promise<readonly string[]>;
}

export const createLinkBlockHandler = (pool: Pool, outbox: Outbox): LinkBlockHandler => {
  const decideAll = (codes: readonly string[], command: LinkBlockCommand, actor: Actor) =>
    transaction(pool, async (tx) => {
      const links = await lockLinks(tx, codes);
      const now = await ledgerNow(tx);
      const decided = codes.map((code) => {
        const link = links.get(code) ?? freeCode;
        const decision = decideLinkBlock(command, link, { ...actor, now, newId: uuidv7 });
        return { code, link, decision };
      });
      const changes = decided.flatMap(({ link, decision }) => {
        if (decision.type !== 'accepted') return [];
        const next = evolveLedgerLink(link, decision.event);
        return next.status === 'taken' ? [{ next, event: decision.event }] : [];
      });
      await saveLinks(
        tx,
        changes.map(({ next }) => next),
      );
      for (const { event } of changes) {
        const { subject: code, sequence } = event;
        await notifyChange(tx, { kind: 'link', code, sequence });
      }
      const events = changes.map(({ event }) => event);
      const receipt = events.length > 0 ? await outbox.record(tx, events) : nothingRecorded;
      return { decided, receipt };
    });

  return {
    async handle(code, command, actor) {
      const { decided, receipt } = await decideAll([code], command, actor);
      const [decision] = decided.map((each) => each.decision);
      return decision?.type === 'refused' ? decision.reason : receipt;
    },
    async blockUnsafe(codes, reason, actor) {
      const { decided } = await decideAll(codes, { type: 'BlockUnsafeLink', reason }, actor);
      return decided.flatMap(({ code, decision }) => (decision.type === 'accepted' ? [code] : []));
    },
  };
};
