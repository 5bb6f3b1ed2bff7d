import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { keyIdPattern } from '../../../schemas/http/keys.js';
import { personOfActor } from '../../../schemas/roles.js';
import { isLinkEvent } from '../../../schemas/events/catalogue.js';
import { topics } from '../../../schemas/events/topics.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';
import {
  accountsPartition,
  eventOfRow,
  ownerRowOf,
  rowOfEvent,
  type HistoryRow,
} from '../../../schemas/read-models/history.js';

/** The maximum of events in one query of the outbox, which parses them. */
const maxOutboxEvents = 100;

interface HistoryRequest {
  readonly subject: string;
  /** The sequence that the page starts after. */
  readonly after: number;
  readonly limit: number;
  readonly forOwner?: boolean;
}

/** Projected events in order, until `limit` or `maxPageBytes` is reached. */
const readProjected = async (
  pool: Pool,
  { subject, after }: HistoryRequest,
  limit: number,
): Promise<readonly HistoryRow[]> => {
  const { rows } = await pool.query<HistoryRow>({
    name: 'history-page',
    text: `SELECT subject, sequence, time, id, type, account, actor, correlationid, causationid,
             traceparent, client, data
           FROM (SELECT *, sum(octet_length(data)) OVER (ORDER BY sequence) AS bytes
                 FROM (SELECT * FROM projection_history.events
                       WHERE subject = $1 AND sequence > $2 AND partition < ${accountsPartition}
                       ORDER BY sequence LIMIT $3) page) sized
           WHERE bytes - octet_length(data) < $4 ORDER BY sequence`,
    values: [subject, after, limit, maxPageBytes],
  });
  return rows;
};

/** Events of the outbox in order, at most `limit`. */
const readRecorded = async (
  pool: Pool,
  outbox: Outbox,
  known: { readonly subject: string; readonly sequence: number },
  limit: number,
): Promise<readonly HistoryRow[]> => {
  const events = await outbox.after(
    pool,
    topics.links.name,
    [known],
    Math.min(limit, maxOutboxEvents),
  );
  return events.filter(isLinkEvent).map(rowOfEvent);
};

/** The names of those actors that are keys or people, by actor. */
export const readActorNames = async (
  pool: Pool,
  actors: ReadonlySet<string>,
): Promise<Readonly<Record<string, string>>> => {
  const ids = [...actors].filter((actor) => keyIdPattern.test(actor));
  const people = [...actors].filter((actor) => personOfActor(actor) !== null);
  if (ids.length + people.length === 0) return {};
  const { rows } = await pool.query<{ id: string; name: string }>({
    name: 'history-actors',
    text: `SELECT id, name FROM ledger.api_keys WHERE id = ANY ($1::text[])
           UNION ALL
           SELECT actor, name FROM unnest($2::text[], $3::text[]) AS a (actor, id)
           JOIN ledger.people p USING (id) WHERE name IS NOT NULL`,
    values: [ids, people, people.map(personOfActor)],
  });
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
};

/**
 * A page of a link's CloudEvents after the sequence `after`, oldest first, from the history projection and the outbox. It
 * has at least one event if there is one. The result is `{events, next, actorNames}` as JSON in UTF-8; `next` is the
 * `after` of the next page, `null` at the end. Returns `null` if the subject was never used.
 */
export const findLinkHistory = async (
  pool: Pool,
  outbox: Outbox,
  request: HistoryRequest,
): Promise<Buffer | null> => {
  const { subject, after, limit } = request;
  // Encoded only once: each pass over a page of emojis takes a millisecond.
  const events: Buffer[] = [];
  const actors = new Set<string>();
  let bytes = '{"events":[],"next":9007199254740991}'.length;
  let last = after;

  /** Adds events to the page; returns whether it has room for all of them. */
  const add = (rows: readonly HistoryRow[]): boolean => {
    for (const row of rows) {
      const text = eventOfRow(request.forOwner === true ? ownerRowOf(row) : row);
      const event = Buffer.from(events.length === 0 ? text : `,${text}`);
      if (events.length === limit || (events.length > 0 && bytes + event.length > maxPageBytes)) {
        return false;
      }
      events.push(event);
      if (row.actor !== null) actors.add(row.actor);
      bytes += event.length;
      last = row.sequence;
    }
    return true;
  };

  let hasRoom = add(await readProjected(pool, request, limit + 1));
  while (hasRoom) {
    const known = { subject, sequence: last };
    const recorded = await readRecorded(pool, outbox, known, limit + 1 - events.length);
    if (recorded.length === 0) break;
    hasRoom = add(recorded);
  }
  // An empty page is the end of a history, unless the link has none.
  if (events.length === 0) {
    const first = { subject, after: 0, limit: 1 };
    if (after === 0 || !(await findLinkHistory(pool, outbox, first))) return null;
  }
  const next = hasRoom ? 'null' : String(last);
  const names = JSON.stringify(await readActorNames(pool, actors));
  const end = Buffer.from(`],"next":${next},"actorNames":${names}}`);
  return Buffer.concat([Buffer.from('{"events":['), ...events, end]);
};
