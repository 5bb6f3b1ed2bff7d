import { z } from 'zod';
import { firstWithin } from '../../ops/platform/collections.js';
import { transaction, valuesByField, type Pool } from '../../ops/platform/postgres/pool.js';
import type { ChangePage, listChangesQuery } from '../../schemas/http/operators.js';
import { maxPageBytes } from '../../schemas/http/paging.js';
import {
  accountsPartition,
  eventOfRow,
  type HistoryRow,
} from '../../schemas/read-models/history.js';
import { isPersonId, operatorActorOf } from '../../schemas/roles.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, pageOf } from '../http/reply.js';
import { readActorNames } from '../links/history/link-history.js';
import { startSnapshot } from '../links/list/link-list.js';

/** The time in milliseconds, the subject and the sequence of the last event of a page. */
const cursor = z.tuple([z.int(), z.string(), z.int()]);
type Cursor = z.infer<typeof cursor>;

/** `null` if the text is not a cursor. */
export const readChangesCursor = (text: string): Cursor | null => {
  try {
    return cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    // Neither JSON nor a cursor.
    return null;
  }
};

const writeCursor = ({ time, subject, sequence }: HistoryRow): string => {
  const last: Cursor = [time.getTime(), subject, sequence];
  return Buffer.from(JSON.stringify(last)).toString('base64url');
};

/** Events that a page examines at most. If it has fewer matches than its limit, the next page continues. */
const maxExamined = 30_000;

interface ChangeRow extends HistoryRow {
  /** `null`: the event has no actor. */
  readonly matches: boolean | null;
  /** The number of events from the start of the page to this one. */
  readonly examined: number;
}

const impliedStatus: ReadonlyMap<string | undefined, string> = new Map([
  ['ApiKeyCreated', 'active'],
  ['WebhookCreated', 'enabled'],
  ['WebhookDisabled', 'disabled'],
]);

/** The values before those events of a page that have the values after a change, by their ids. */
const readEarlier = async (
  pool: Pool,
  page: readonly HistoryRow[],
): Promise<ChangePage['earlier']> => {
  const changes = page.filter(({ type }) => /(?:Changed|Saved)\.v\d+$/.test(type));
  if (changes.length === 0) return {};
  // An account may get the subject of another one later, such as a domain.
  const { rows } = await pool.query<Pick<HistoryRow, 'id' | 'type' | 'data'>>({
    name: 'changes-earlier',
    text: `SELECT id, type, data
           FROM (SELECT c.id, e.*, place, sum(octet_length(e.data)) OVER (ORDER BY place) AS bytes
                 FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY
                   AS c (id, subject, sequence, account, place),
                 LATERAL (SELECT e.sequence, e.type, e.data FROM projection_history.events e
                          WHERE e.subject = c.subject AND e.partition = ${accountsPartition}
                            AND e.sequence < c.sequence AND e.sequence >= c.sequence - 100
                            AND e.account IS NOT DISTINCT FROM c.account
                            AND e.type !~ 'Rotated' AND (e.data <> '{}' OR e.type ~ 'Deleted')
                          ORDER BY e.sequence DESC LIMIT 4) e) sized
           WHERE bytes <= ${maxPageBytes} ORDER BY place, sequence DESC`,
    values: valuesByField(changes, 'id', 'subject', 'sequence', 'account'),
  });
  const earlier: Record<string, Record<string, unknown>> = {};
  const complete = new Set<string>();
  for (const { id, type, data } of rows) {
    if (complete.has(id)) continue;
    const status = impliedStatus.get(type.split('.')[1]);
    const values = JSON.parse(data) as Record<string, unknown>;
    earlier[id] = { ...(status !== undefined && { status }), ...values, ...earlier[id] };
    // The values of the subject start anew after these.
    if (/(?:Verified|Deleted)\.v/.test(type)) complete.add(id);
  }
  return earlier;
};

/**
 * The events of accounts and the platform, and those of links whose actor is an operator, except imports. It is the
 * condition of two indexes (0121_changes_of_links.sql), so PostgreSQL reads no other event.
 */
export const isListed = `(partition >= ${accountsPartition} OR (
  actor NOT LIKE '________-____-____-____-____________'
  AND NOT (actor LIKE 'usr\\_%' AND actor ~ '^usr_[0-9A-Za-z]{20}$')
  AND actor NOT IN ('system', 'web-safety', 'visitor') AND type NOT LIKE 'linklog.LinkImported.%'))`;

/** Reads a page of changes, newest first. */
export const listChanges = async (
  pool: Pool,
  { account, actor, type }: Pick<z.output<typeof listChangesQuery>, 'account' | 'actor' | 'type'>,
  after: Cursor | null,
  limit: number,
  most = maxExamined,
): Promise<ChangePage> => {
  const [time, subject, sequence] = after ?? [8_640_000_000_000_000, '', 0];
  const order = 'time DESC, subject DESC, sequence DESC';
  const [name, ofAccount] =
    account === undefined ? ['changes-page', ''] : ['changes-page-of-account', 'AND account = $8'];
  const statement = {
    name,
    text: `SELECT * FROM (
             SELECT subject, sequence, time, id, type, account, actor, correlationid, causationid,
               traceparent, client, data, row_number() OVER (ORDER BY ${order}) AS examined,
               ($5::text[] IS NULL OR actor = ANY ($5))
                 AND ($6::text IS NULL OR split_part(type, '.', 2) = $6) AS matches
             FROM (SELECT * FROM projection_history.events
                   WHERE ${isListed} ${ofAccount} AND (time, subject, sequence) < ($1, $2, $3)
                   ORDER BY ${order} LIMIT $7) e) walked
           WHERE matches OR examined = $7 ORDER BY ${order} LIMIT $4`,
    values: [
      ...[new Date(time), subject, sequence, limit + 1],
      // A person has another actor as an operator.
      actor === undefined ? null : isPersonId(actor) ? [actor, operatorActorOf(actor)] : [actor],
      ...[type ?? null, most, ...(account === undefined ? [] : [account])],
    ],
  };
  const { rows } = await transaction(pool, async (tx) => {
    await startSnapshot(tx);
    return tx.query<ChangeRow>(statement);
  });
  // An event of a link may have 64 KiB.
  const { length } = firstWithin(rows, maxPageBytes, ({ data }) => Buffer.byteLength(data));
  const { page, next } = pageOf(rows, Math.min(limit, length), writeCursor);
  const last = rows.at(-1);
  const matches = page.filter((row) => row.matches === true);
  return {
    events: matches.map((row) => JSON.parse(eventOfRow(row)) as ChangePage['events'][number]),
    next: next ?? (last?.examined === most ? writeCursor(last) : null),
    actorNames: await readActorNames(
      pool,
      new Set(
        matches.flatMap(({ actor, subject }) => (actor === null ? [subject] : [actor, subject])),
      ),
    ),
    earlier: await readEarlier(pool, matches),
  };
};

/** The changes of accounts and the platform, and of links by operators, with their actors. */
export const changeHandlers = (({ pool }) => ({
  async listChanges({ query: { after, limit, ...filter } }) {
    const cursor = after === undefined ? null : readChangesCursor(after);
    if (after !== undefined && cursor === null) {
      return failure(400, 'after must be the next of a page');
    }
    return json(200, await listChanges(pool, filter, cursor, limit));
  },
})) satisfies AdminHandlers;
