import { decideAll } from '../../../ops/ledger/decide.js';
import { ledgerLinks } from '../../../ops/ledger/links.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor } from '../../../schemas/decision.js';
import { decideLinkBlock, type LinkBlockCommand } from './command.js';

export type LinkBlockHandler = ReturnType<typeof createLinkBlockHandler>;

export const createLinkBlockHandler = (pool: Pool, outbox: Outbox) => {
  const run = (codes: readonly string[], command: LinkBlockCommand, actor: Actor) =>
    decideAll(
      { pool, outbox },
      ledgerLinks,
      codes.map((subject) => ({
        ...actor,
        subject,
        decide: (link, context) => decideLinkBlock(command, link, context),
      })),
    );

  return {
    /** Decides a block or an unblock, records its event and tells every edge, in one transaction. */
    async handle(code: string, command: LinkBlockCommand, actor: Actor) {
      const { results, receipt } = await run([code], command, actor);
      const decision = results[0]?.decision;
      return decision?.type === 'refused' ? decision.reason : receipt;
    },
    /** The same for what the web-safety check has found. @returns the codes that are blocked now */
    async blockUnsafe(codes: readonly string[], reason: string, actor: Actor) {
      const { results } = await run(codes, { type: 'BlockUnsafeLink', reason }, actor);
      return codes.filter((_, index) => results[index]?.decision.type === 'accepted');
    },
  };
};
