/** Reads events of an account from the history projection, and visits from the log. */
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { readKnownEvent } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
import { subjectRangeOf } from '../../schemas/link-subject.js';
import { rebuildDue } from '../platform/postgres/generation.js';
import { accountsPartition, type HistoryRow } from '../../schemas/read-models/history.js';
import type { EventLog } from '../event-log/port.js';
import type { Pool } from '../platform/postgres/pool.js';
import { feedPartitions, type Cursor } from './cursor.js';
import { feedEventOf, feedEventOfRow, selects, type FeedEvent, type FeedFilter } from './filter.js';

export interface PortionLimits {
  readonly events: number;
  /** Bytes of the events; the first one may be larger. */
  readonly bytes: number;
}

/** The next events of one partition. */
export interface PartitionEvents {
  readonly index: number;
  readonly events: readonly FeedEvent[];
  /** The next offset to read after these events; all events of the filter before it are included. */
  readonly scanned: number;
  /** Whether `scanned` was the end of the partition. */
  readonly atEnd: boolean;
}

/** The history is being rebuilt after an upgrade and lacks offsets. */
export class HistoryIncomplete extends Error {
  readonly code = 'HISTORY_INCOMPLETE';

  constructor() {
    super('the history has no offsets before its rebuild');
  }
}

const isRebuildDue = `obj_description('projection_history'::regnamespace, 'pg_namespace') = '${rebuildDue}' IS TRUE`;

/** Checks that the history has offsets. @throws HistoryIncomplete */
export const requireHistory = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ isDue: boolean }>(`SELECT ${isRebuildDue} AS "isDue"`);
  if (rows[0]?.isDue) throw new HistoryIncomplete();
};

/** Rows of a partition that one query examines in search of selected ones. */
const maxExamined = 1_000;

/** Joins the checkpoint `c` of the history to an index `p.index`. */
const joinCheckpoint = `LEFT JOIN projection_history.checkpoints c ON (c.topic, c.partition) =
  (CASE p.index WHEN ${accountsPartition} THEN '${topics.accounts.name}' ELSE '${topics.links.name}' END,
   CASE p.index WHEN ${accountsPartition} THEN 0 ELSE p.index END)`;

/** SQL: whether a subject is within `subjectRangeOf` a domain; the range of the default domain, `''`, starts with `/`. */
const isWithin = (after: string, before: string): string =>
  `CASE ${after} WHEN '/' THEN position('/' IN subject) = 0 ELSE subject > ${after} AND subject < ${before} END`;

interface Row extends HistoryRow {
  readonly index: number;
  /** The checkpoint of the projection; `null` before its first batch. */
  readonly applied: number | null;
  readonly isRebuildDue: boolean;
  /** The rows of the partition before the limit of all partitions. */
  readonly total: number;
  readonly rowOffset: number | null;
  /** Of the selected rows of the partition up to this one. */
  readonly bytes: number;
  /** Whether the filter selects the row. Otherwise it is the last examined row. */
  readonly isSelected: boolean;
}

/**
 * Reads the first events by time, without reordering a partition, and at least one of each partition.
 *
 * @param share of the limits that one partition may use; its first event may have more bytes
 * @throws HistoryIncomplete
 */
export const readHistory = async (
  pool: Pool,
  filter: FeedFilter,
  cursor: Cursor,
  indexes: readonly number[],
  limits: PortionLimits,
  share: number,
): Promise<readonly PartitionEvents[]> => {
  if (indexes.length === 0) return [];
  const maxBytes = Math.ceil(limits.bytes * share);
  const { account, types, subject, domain } = filter;
  const [after, before] = domain === null ? [null, null] : subjectRangeOf(domain);
  // The events of one link are found by the primary key.
  const ofSubject = subject === null ? '' : 'AND subject = $10';
  const { rows } = await pool.query<Row>({
    name: subject === null ? 'feed-history' : 'feed-history-subject',
    text: `SELECT index, applied, "isRebuildDue", total, "rowOffset", "isSelected", bytes, subject, sequence, time, id, type,
             account, actor, correlationid, causationid, traceparent, client, data
           FROM (
           SELECT p.index, c.next_offset AS applied, e.*,
             -- In a query of its own, which is executed once instead of for each row (20 us).
             (SELECT ${isRebuildDue}) AS "isRebuildDue",
             count("rowOffset") OVER (PARTITION BY p.index) AS total,
             row_number() OVER (PARTITION BY p.index ORDER BY "rowOffset") AS number,
             row_number() OVER (ORDER BY latest, p.index, "rowOffset") AS rank
           FROM unnest($2::smallint[], $3::bigint[]) AS p (index, "from")
           ${joinCheckpoint}
           LEFT JOIN LATERAL (
             SELECT record_offset AS "rowOffset", "isSelected", bytes, latest,
               subject, sequence, time, id, type, account, actor, correlationid, causationid, traceparent, client,
               data
             FROM (SELECT *, sum(size) OVER examined AS bytes, row_number() OVER examined AS number,
                     max(time) FILTER (WHERE "isSelected") OVER examined AS latest
                   FROM (SELECT *, CASE WHEN "isSelected" THEN octet_length(data) ELSE 0 END AS size
                         FROM (SELECT *, type = ANY ($6::text[])
                                 AND ($7::text IS NULL OR ${isWithin('$7', '$8')}) AS "isSelected"
                               FROM projection_history.events
                               WHERE account = $1 AND partition = p.index AND record_offset >= p."from" ${ofSubject}
                               ORDER BY record_offset LIMIT ${maxExamined}) page) sized
                   WINDOW examined AS (ORDER BY record_offset)) summed
             WHERE ("isSelected" OR number = ${maxExamined}) AND bytes - size < $5
             ORDER BY record_offset LIMIT $4
           ) e ON true) merged
           WHERE number = 1 OR rank <= $9
           ORDER BY index, "rowOffset"`,
    values: [
      ...[account, indexes, indexes.map((index) => cursor[index])],
      ...[Math.ceil(limits.events * share), maxBytes, [...types], after, before, limits.events],
      ...(subject === null ? [] : [subject]),
    ],
  });
  if (rows[0]?.isRebuildDue) throw new HistoryIncomplete();
  return indexes.map((index) => {
    const ofPartition = rows.filter((row) => row.index === index);
    // A partition without events has one row.
    const found = ofPartition.filter(({ rowOffset }) => rowOffset !== null);
    const from = cursor[index] ?? 0;
    const { rowOffset: last = null, isSelected = true, bytes = 0 } = found.at(-1) ?? {};
    const total = ofPartition[0]?.total ?? 0;
    const isCut =
      ofPartition.length < total ||
      total === Math.ceil(limits.events * share) ||
      bytes >= maxBytes ||
      !isSelected;
    return {
      index,
      events: found
        .filter(({ isSelected }) => isSelected)
        .map((row) => feedEventOfRow(row, index, row.rowOffset ?? 0)),
      scanned: Math.max(
        from,
        last === null ? 0 : last + 1,
        isCut ? 0 : (ofPartition[0]?.applied ?? 0),
      ),
      atEnd: !isCut,
    };
  });
};

/**
 * All searches of a process skip at most this many records of other accounts in `skipMs`, so that they take at most a
 * third of a core: 1,000 records cost 2.3 ms of the main thread (Kafka), or 1.5 ms of PostgreSQL.
 */
const skippedPerPause = 1_000;
const skipMs = 5;
const limitPauses = pLimit(1);
const pauseAfter = (skipped: number): Promise<void> =>
  limitPauses(() => sleep((skipped / skippedPerPause) * skipMs));

/** Reads visits of one partition from the log: at most `limit` events of at most `maxRecords` records. */
export const readVisits = async (
  log: Pick<EventLog, 'read'>,
  filter: FeedFilter,
  { index, from, end }: { readonly index: number; readonly from: number; readonly end: number },
  limit: number,
  maxRecords: number,
): Promise<PartitionEvents> => {
  const known = feedPartitions[index];
  if (!known) throw new RangeError(`the feed has no partition ${index}`);
  // Parsing all records would take ten times as long.
  const named = `"account":${JSON.stringify(filter.account)}`;
  // A broker that lags behind may report an end before `from`.
  const to = Math.max(from, Math.min(end, from + maxRecords));
  const events: FeedEvent[] = [];
  const portion = (scanned: number): PartitionEvents => ({
    ...{ index, events, scanned, atEnd: scanned >= end },
  });
  let throttledTo = from;
  for await (const { records } of log.read(known.topic, known.partition, from, to, named)) {
    let selected = 0;
    for (const record of records) {
      if (!record.value.includes(named)) continue;
      if (filter.subject !== null && record.key !== filter.subject) continue;
      const event = readKnownEvent(record.value);
      if (event?.account !== filter.account || !selects(filter, event)) continue;
      if (events.length === limit) return portion(record.offset);
      selected += 1;
      events.push(feedEventOf(event, index, record.offset));
    }
    const next = (records.at(-1)?.offset ?? throttledTo - 1) + 1;
    await pauseAfter(next - throttledTo - selected);
    throttledTo = next;
  }
  await pauseAfter(to - throttledTo);
  return portion(to);
};

/** Rows of a partition that are counted at most. */
const maxCounted = 10_000;

/** Counts the events of links and accounts after a cursor, at most 10,000 of each partition. */
export const countHistory = async (
  pool: Pool,
  filter: FeedFilter,
  cursor: Cursor,
  indexes: readonly number[],
): Promise<number> => {
  const [after, before] = filter.domain === null ? [null, null] : subjectRangeOf(filter.domain);
  const { rows } = await pool.query<{ count: number }>({
    name: 'feed-count',
    text: `SELECT count(*) AS count
           FROM unnest($2::smallint[], $3::bigint[]) AS p (index, "from")
           CROSS JOIN LATERAL (
             SELECT type, subject FROM projection_history.events
             WHERE account = $1 AND partition = p.index AND record_offset >= p."from"
             ORDER BY record_offset LIMIT ${maxCounted}
           ) e
           WHERE type = ANY ($4::text[]) AND ($5::text IS NULL OR ${isWithin('$5', '$6')})`,
    values: [
      ...[filter.account, indexes, indexes.map((index) => cursor[index])],
      ...[[...filter.types], after, before],
    ],
  });
  return rows[0]?.count ?? 0;
};

/**
 * The offsets of an account's first events since a time, by index of the partition; where the history has none, the offset
 * up to which it has all events.
 */
export const historyOffsetsSince = async (
  pool: Pool,
  account: string,
  time: Date,
  indexes: readonly number[],
): Promise<ReadonlyMap<number, number>> => {
  const { rows } = await pool.query<{ index: number; offset: number }>(
    `SELECT p.index, coalesce(e.first_offset, c.next_offset, 0) AS "offset"
     FROM unnest($3::smallint[]) AS p (index) ${joinCheckpoint}
     LEFT JOIN (
       SELECT partition, min(record_offset) AS first_offset FROM projection_history.events
       WHERE account = $1 AND time >= $2 GROUP BY partition) e ON e.partition = p.index`,
    [account, time, indexes],
  );
  return new Map(rows.map(({ index, offset }) => [index, offset]));
};
