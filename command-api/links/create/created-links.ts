import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { EventNamed, LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { topics } from '../../../schemas/events/topics.js';
import {
  accountsPartition,
  eventOfRow,
  type HistoryRow,
} from '../../../schemas/read-models/history.js';

/** The schema of the event requires a password hash, and the history stores none. */
const withoutPassword = (row: HistoryRow): HistoryRow => ({
  ...row,
  data: JSON.stringify({ ...(JSON.parse(row.data) as object), passwordHash: null }),
});

/**
 * The events that created links, by short subject, without password hashes. Reads the history projection, and the outbox
 * for links that are not projected yet. Omits subjects without such an event.
 */
export const readCreatedLinks = async (
  pool: Pool,
  outbox: Outbox,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, EventNamed<'LinkCreated'>>> => {
  const created = new Map<string, EventNamed<'LinkCreated'>>();
  const add = (event: LinklogEvent): void => {
    if (event.type === 'linklog.LinkCreated.v4') created.set(event.subject, event);
  };
  const { rows } = await pool.query<HistoryRow>({
    name: 'history-created',
    text: `SELECT subject, sequence, time, id, type, account, actor, correlationid, causationid,
             traceparent, data
           FROM projection_history.events WHERE subject = ANY ($1::text[]) AND sequence = 1
             AND partition < ${accountsPartition}`,
    values: [subjects],
  });
  for (const row of rows) add(readEvent(eventOfRow(withoutPassword(row))));
  const missing = subjects.filter((subject) => !created.has(subject));
  const known = missing.map((subject) => ({ subject, sequence: 0 }));
  if (known.length === 0) return created;
  for (const event of await outbox.after(pool, topics.links.name, known)) add(event);
  return created;
};
