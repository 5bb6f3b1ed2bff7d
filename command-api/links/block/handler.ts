import { decideAll } from '../../../ops/ledger/decide.js';
import { ledgerLinks } from '../../../ops/ledger/links.js';
import type { Outbox, OutboxPosition } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { Actor } from '../../../schemas/decision.js';
import { linkBlockDecider, type LinkBlockCommand } from './command.js';

export type LinkBlockHandler = ReturnType<typeof createLinkBlockHandler>;

export const createLinkBlockHandler = (pool: Pool, outbox: Outbox) => {
  const decide = (
    subjects: readonly string[],
    command: Pick<LinkBlockCommand, 'type' | 'data'>,
    metadata: Actor,
  ) =>
    decideAll(
      { pool, outbox },
      ledgerLinks,
      linkBlockDecider,
      subjects.map((subject) => ({ ...command, subject, metadata })),
    );

  return {
    async handle(
      subject: string,
      { type, ...data }: { readonly type: LinkBlockCommand['type'] } & LinkBlockCommand['data'],
      actor: Actor,
    ): Promise<OutboxPosition | 'notFound'> {
      const { results, outboxPosition } = await decide([subject], { type, data }, actor);
      return results[0]?.decision.type === 'refused' ? 'notFound' : outboxPosition;
    },
    /** Blocks unsafe links. @returns the subjects of newly blocked links */
    async blockUnsafe(subjects: readonly string[], reason: string, actor: Actor) {
      const { results } = await decide(
        subjects,
        { type: 'BlockUnsafeLink', data: { reason } },
        actor,
      );
      return results
        .filter(({ decision }) => decision.type === 'accepted')
        .map(({ command }) => command.subject);
    },
  };
};
