import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { ownActors } from '../../schemas/decision.js';
import { keyIdPattern } from '../../schemas/http/keys.js';
import { withoutSecrets } from '../../schemas/events/redact.js';
import { eventOfRow, type HistoryRow } from '../../schemas/read-models/history.js';
import { topics } from '../../schemas/events/topics.js';

/** Whose names their owner may know: keys by their id, and what acts by itself. */
const isNamed = (actor: string): boolean =>
  keyIdPattern.test(actor) || Object.values<string>(ownActors).includes(actor);

const without = (whole: object, name: string): object =>
  Object.fromEntries(Object.entries(whole).filter(([each]) => each !== name));

/** An event of a link's history as its owner sees it: operators have no name, and give no reasons. */
export const forOwner = (event: object): object => {
  const { actor = '', data = {} } = event as { actor?: string; data?: object };
  if (isNamed(actor)) return event;
  const anonymous = { ...event, actor: 'operator', data: without(data, 'reason') };
  return without(anonymous, 'correlationid');
};

/**
 * The events of a link after its event number `after`, from the history projection, and later ones
 * from the outbox: CloudEvents, oldest first. `next` is what to ask for next as `after`; `null` at the
 * end. `null` where there never was such a link.
 */
export const findLinkHistory = async (
  pool: Pool,
  outbox: Outbox,
  code: string,
  after: number,
  limit: number,
): Promise<{ readonly events: readonly object[]; readonly next: number | null } | null> => {
  const { rows } = await pool.query<HistoryRow>(
    `SELECT * FROM projection_history.events
     WHERE code = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
    [code, after, limit + 1],
  );
  const all = rows.map((row) => ({ sequence: row.sequence, event: eventOfRow(row) }));
  if (all.length <= limit) {
    const known = { subject: code, sequence: all.at(-1)?.sequence ?? after };
    for (const event of await outbox.after(pool, topics.links.name, [known])) {
      all.push({ sequence: event.sequence, event: withoutSecrets(event) });
    }
  }
  // No event after `after` is an empty page; no event at all means no such link.
  if (all.length === 0 && (after === 0 || !(await findLinkHistory(pool, outbox, code, 0, 1)))) {
    return null;
  }
  const page = all.slice(0, limit);
  return {
    events: page.map(({ event }) => event),
    next: all.length > limit ? (page.at(-1)?.sequence ?? null) : null,
  };
};
