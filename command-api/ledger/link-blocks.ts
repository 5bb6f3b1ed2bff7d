import { decideAll } from '../../ops/ledger/decide.js';
import { ledgerLinks } from '../../ops/ledger/links.js';
import type { Outbox, Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { decideLinkBlock, type LinkBlockCommand } from '../domain/link-block.js';

export interface LinkBlockHandler {
  /** Decides a block or an unblock, records its event and tells every edge, in one transaction. */
  handle(code: string, command: LinkBlockCommand, actor: Actor): Promise<Receipt | 'notFound'>;
  /** The same for what the web-safety check has found. @returns the codes that are blocked now */
  blockUnsafe(codes: readonly string[], reason: string, actor: Actor): Promise<readonly string[]>;
}

export const createLinkBlockHandler = (pool: Pool, outbox: Outbox): LinkBlockHandler => {
  const run = (codes: readonly string[], command: LinkBlockCommand, actor: Actor) =>
    transaction(pool, (tx) =>
      decideAll(
        tx,
        outbox,
        ledgerLinks,
        codes.map((subject) => ({
          ...actor,
          subject,
          decide: (link, context) => decideLinkBlock(command, link, context),
        })),
      ),
    );

  return {
    async handle(code, command, actor) {
      const { results, receipt } = await run([code], command, actor);
      const decision = results[0]?.decision;
      return decision?.type === 'refused' ? decision.reason : receipt;
    },
    async blockUnsafe(codes, reason, actor) {
      const { results } = await run(codes, { type: 'BlockUnsafeLink', reason }, actor);
      return codes.filter((_, index) => results[index]?.decision.type === 'accepted');
    },
  };
};
