import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { topics } from '../../schemas/events/topics.js';

export interface HistoryPage {
  /** CloudEvents, oldest first. */
  readonly events: readonly object[];
  /** What to ask for next as `after`; `null` at the end. */
  readonly next: number | null;
}

/** What was done to a link, after its event number `after`; `null` where there never was one. */
export type FindLinkHistory = (
  code: string,
  after: number,
  limit: number,
) => Promise<HistoryPage | null>;

/** Reads the history projection, and the outbox for later events. */
export const createLinkHistory = (pool: Pool, outbox: Outbox): FindLinkHistory => {
  const find: FindLinkHistory = async (code, after, limit) => {
    const { rows } = await pool.query<{ sequence: number; event: string }>(
      `SELECT sequence, event FROM projection_history.events
       WHERE code = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
      [code, after, limit + 1],
    );
    const known = rows.map(({ sequence, event }) => ({
      sequence,
      event: JSON.parse(event) as object,
    }));
    const highWaterMark = known.at(-1)?.sequence ?? after;
    const newer =
      known.length > limit
        ? []
        : await outbox.after(topics.links.name, [{ subject: code, sequence: highWaterMark }]);
    const all = [
      ...known,
      ...newer.map((event) => ({ sequence: event.sequence, event: withoutSecrets(event) })),
    ];
    // No event after `after` is an empty page; no event at all means no such link.
    if (all.length === 0 && (after === 0 || !(await find(code, 0, 1)))) return null;
    const page = all.slice(0, limit);
    return {
      events: page.map(({ event }) => event),
      next: all.length > limit ? (page.at(-1)?.sequence ?? null) : null,
    };
  };
  return find;
};
