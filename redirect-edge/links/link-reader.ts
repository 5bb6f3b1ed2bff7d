import { createBatcher } from '../../ops/platform/batcher.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { LinkEvent, LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { evolveLink, noLink, type LinkState } from '../../schemas/folds/link.js';
import { stateOfRow, type RedirectRow } from '../../schemas/read-models/redirects.js';
import { servedLink, type ServedLink } from '../domain/visit.js';
import type { LinkCache } from './link-cache.js';

const maxGroup = 1_000;
/** Look-ups that may wait: beyond, visitors get 503 instead of a queue without end. */
const maxWaiting = 5_000;

const isLinkEvent = (event: LinklogEvent): event is LinkEvent =>
  event.type === 'linklog.LinkCreated.v1' ||
  event.type === 'linklog.LinkExpired.v1' ||
  event.type === 'linklog.LinkBlocked.v1' ||
  event.type === 'linklog.LinkUnblocked.v1';

export interface LinkReader {
  /** From memory, without waiting. */
  cached(code: string): ServedLink | undefined;
  /** From the read model and the outbox; `null` where there is no such link. @throws Overloaded */
  read(code: string): Promise<ServedLink | null>;
  /** What is in memory of a link is out of date. */
  forget(code: string): void;
}

/**
 * Reads links: the projected row, and whatever events of the link the outbox has above it. So a
 * link redirects from the moment that its 201 was sent, however far the projector lags.
 *
 * What is not found is not remembered, and a query's "not found" answers only those who were
 * waiting when it was sent: a link made a moment later is found.
 */
export const createLinkReader = (pool: Pool, outbox: Outbox, cache: LinkCache): LinkReader => {
  const readStates = async (codes: readonly string[]): Promise<ReadonlyMap<string, LinkState>> => {
    const { rows } = await pool.query<RedirectRow>({
      name: 'redirects-read',
      text: 'SELECT * FROM projection_redirects.links WHERE code = ANY ($1::text[])',
      values: [codes],
    });
    const states = new Map(rows.map((row) => [row.code, stateOfRow(row)]));
    const sequences = new Map(rows.map((row) => [row.code, row.sequence]));
    const marks = codes.map((subject) => ({ subject, sequence: sequences.get(subject) ?? 0 }));
    for (const event of await outbox.after(topics.links.name, marks)) {
      if (!isLinkEvent(event)) continue;
      states.set(event.subject, evolveLink(states.get(event.subject) ?? noLink, event));
    }
    return states;
  };

  const batcher = createBatcher<string, ServedLink | null>({
    maxBatch: maxGroup,
    maxWaiting,
    async run(codes) {
      const states = await readStates([...new Set(codes)]);
      const found = new Map<string, ServedLink>();
      for (const [code, state] of states) {
        const link = servedLink(state);
        if (!link) continue;
        found.set(code, link);
        cache.set(link);
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
