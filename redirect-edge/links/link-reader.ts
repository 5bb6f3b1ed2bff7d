import { createBatcher } from '../../ops/platform/batcher.js';
import { readLinkStates } from '../../ops/platform/links/link-states.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { servedLink, type ServedLink } from '../domain/visit.js';
import type { LinkCache } from './link-cache.js';

const maxGroup = 1_000;
/** Look-ups that may wait: beyond, visitors get 503 instead of a queue without end. */
const maxWaiting = 5_000;

/** Memory does not see a limit used up; where a form stands before the ledger, it would ask in vain. */
const cacheable = (link: ServedLink): boolean => !link.limited || link.passwordHash === null;

export interface LinkReader {
  /** From memory, without waiting. */
  cached(code: string): ServedLink | undefined;
  /** From the read model and the outbox; `null` where there is no such link. @throws Overloaded */
  read(code: string): Promise<ServedLink | null>;
  /** What is in memory of a link is out of date. */
  forget(code: string): void;
}

/**
 * Reads links, those of one event-loop tick with one query.
 *
 * What is not found is not remembered, and a query's "not found" answers only those who were
 * waiting when it was sent: a link made a moment later is found.
 */
export const createLinkReader = (pool: Pool, outbox: Outbox, cache: LinkCache): LinkReader => {
  const batcher = createBatcher<string, ServedLink | null>({
    maxBatch: maxGroup,
    maxWaiting,
    async run(codes) {
      const states = await readLinkStates(pool, outbox, [...new Set(codes)]);
      const found = new Map<string, ServedLink>();
      for (const [code, state] of states) {
        const link = servedLink(state);
        if (!link) continue;
        found.set(code, link);
        if (cacheable(link)) cache.set(link);
      }
      return codes.map((code) => found.get(code) ?? null);
    },
  });

  return {
    cached: (code) => cache.get(code),
    read: (code) => batcher.submit(code),
    forget: (code) => {
      cache.delete(code);
    },
  };
};
