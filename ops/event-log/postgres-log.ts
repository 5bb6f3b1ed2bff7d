import { setImmediate as nextIteration } from 'node:timers/promises';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf, writeEvent } from '../../schemas/events/codec.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { Logger } from '../platform/logging.js';
import type { OnRecorded } from './outbox/outbox-metrics.js';
import { noPosition, type Outbox, type OutboxPosition } from './outbox/port.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import { valuesByField, type Pool } from '../platform/postgres/pool.js';
import { encodeStatement, textArray, type Statement } from '../platform/postgres/statement.js';
import { installationOf } from './log-binding.js';
import { partitionOf } from './partition.js';
import type { EventLog, PartitionRange } from './port.js';
import {
  readOffsetRange,
  rowsOf,
  type PlacedLines,
  type PlacedRecord,
} from './postgres-batches.js';
import { loadPartitions, type KnownPartition } from './postgres-partitions.js';
import { startPostgresSubscription } from './postgres-subscription.js';
import { RecentRows } from './recent-rows.js';

/** Events of `after` that are parsed in one event-loop iteration; an event with a long note takes 0.1 ms. */
const eventsPerIteration = 16;

/** Locks partitions in order, assigns offsets, inserts records and notifies readers. Its rows are an outbox position. */
const insertRecords = (
  records: readonly (PlacedRecord | PlacedLines)[],
  announced: readonly TopicName[],
): Statement => {
  const rows = rowsOf(records);
  return {
    name: 'log-append',
    text: `
      WITH input AS (
        SELECT * FROM unnest($1::smallint[], $2::integer[], $3::text[], $4::bigint[], $6::text[])
          WITH ORDINALITY AS i (partition_id, records, key, ledger_sequence, value, position)
      ),
      counts AS (SELECT partition_id, sum(records) AS records FROM input GROUP BY partition_id),
      locked AS MATERIALIZED (
        SELECT id FROM log.partitions
        WHERE id IN (SELECT partition_id FROM counts)
        ORDER BY id FOR UPDATE
      ),
      moved AS (
        UPDATE log.partitions p SET next_offset = p.next_offset + c.records
        FROM locked l JOIN counts c ON c.partition_id = l.id
        WHERE p.id = l.id
        RETURNING p.id, p.topic, p.next_offset, p.next_offset - c.records AS first_offset
      ),
      inserted AS (
        INSERT INTO log.records (partition_id, first_offset, records, key, ledger_sequence, value)
        SELECT i.partition_id,
               m.first_offset - i.records
                 + sum(i.records) OVER (PARTITION BY i.partition_id ORDER BY i.position),
               i.records, i.key, i.ledger_sequence, i.value
        FROM input i JOIN moved m ON m.id = i.partition_id
      )
      SELECT id AS "partitionId", next_offset AS next,
             CASE WHEN topic = ANY ($5::text[]) THEN pg_notify('linklog_log', topic) END
      FROM moved`,
    values: [
      ...valuesByField(rows, 'partitionId', 'records', 'key', 'sequence'),
      announced,
      textArray(rows.map(({ value }) => value)),
    ],
  };
};

const outboxPositionOf = (rows: readonly OutboxPosition[number][]): OutboxPosition =>
  rows.map(({ partitionId, next }) => ({ partitionId, next }));

type Partitions = Awaited<ReturnType<typeof loadPartitions>>;

/** Returns a function that finds the id of a partition by its number or by a key. */
const partitionIdsOf =
  (partitions: Partitions) =>
  (topic: TopicName, key: string | number): number => {
    const known = partitions.get(topic) ?? [];
    const found = known[typeof key === 'number' ? key : partitionOf(key, known.length)];
    if (!found) throw new Error(`${topic} has no partition for ${key}`);
    return found.id;
  };

/**
 * Minimum interval of notifications about appends to a topic (ms). A notification costs time of the commit, of a backend
 * and of each reader. A reader that has found records polls again after the longer `mayWaitMs`, and then after 0.5 s.
 */
const usualAnnouncementMs = 200;

class Announcements {
  readonly #last = new Map<TopicName, number>();

  constructor(private readonly everyMs: number) {}

  due(appended: Iterable<TopicName>): readonly TopicName[] {
    const now = performance.now();
    return [...new Set(appended)].filter(
      (topic) => now - (this.#last.get(topic) ?? -Infinity) >= this.everyMs,
    );
  }

  committed(announced: readonly TopicName[]): void {
    for (const topic of announced) this.#last.set(topic, performance.now());
  }
}

/**
 * Removes events of the ledger that the log has. Only a restore, a single process before any compaction, appends records
 * with sequences.
 */
const withoutRepeats = async (
  pool: Pool,
  placed: readonly (PlacedRecord | PlacedLines)[],
): Promise<readonly (PlacedRecord | PlacedLines)[]> => {
  const numbered = placed.filter(
    (record): record is PlacedRecord => 'sequence' in record && record.sequence !== null,
  );
  if (numbered.length === 0) return placed;
  const { rows } = await pool.query<{ key: string; sequence: number | null }>({
    name: 'log-highest',
    // The partial index has the rows with a sequence.
    text: `SELECT key, (SELECT max(ledger_sequence) FROM log.records r
                        WHERE r.key = a.key AND r.partition_id = a.partition_id
                          AND ledger_sequence IS NOT NULL) AS sequence
           FROM unnest($1::text[], $2::smallint[]) AS a (key, partition_id)`,
    values: valuesByField(numbered, 'key', 'partitionId'),
  });
  const highest = new Map(rows.map(({ key, sequence }) => [key, sequence ?? 0]));
  return placed.filter((record) => {
    if (!('sequence' in record) || record.sequence === null) return true;
    if (record.sequence <= (highest.get(record.key) ?? 0)) return false;
    highest.set(record.key, record.sequence);
    return true;
  });
};

const appendTo = (
  pool: Pool,
  partitions: Partitions,
  announcements: Announcements,
): EventLog['append'] => {
  const partitionId = partitionIdsOf(partitions);
  return async (topic, records) => {
    if (records.length === 0) return;
    const placed = records.map((record) => {
      if ('lines' in record) {
        const { partition, records: count, lines } = record;
        return { partitionId: partitionId(topic, partition), records: count, lines };
      }
      const { key, value } = record;
      const sequence = 'ledgerSequence' in record ? record.ledgerSequence : null;
      return { partitionId: partitionId(topic, key), key, sequence, value };
    });
    const fresh = await withoutRepeats(pool, placed);
    if (fresh.length === 0) return;
    const announced = announcements.due([topic]);
    await pool.query(encodeStatement(insertRecords(fresh, announced)));
    announcements.committed(announced);
  };
};

/** Opens the log for appends only. @throws PartitionsDiffer */
export const openPostgresAppend = async (pool: Pool): Promise<EventLog['append']> =>
  appendTo(pool, await loadPartitions(pool), new Announcements(usualAnnouncementMs));

/**
 * Opens the embedded log, tables of PostgreSQL: records are appended to `log.records`, and the compactor moves old ones to
 * `log.segments`. Readers poll, and sooner after a notification on `linklog_log`.
 *
 * @throws PartitionsDiffer
 */
export const openPostgresLog = async (options: {
  readonly pool: Pool;
  readonly listener: NotificationListener;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded | undefined;
  /** Minimum interval of notifications (ms). */
  readonly announcementMs?: number;
}) => {
  const { pool, listener, logger, onRecorded, announcementMs = usualAnnouncementMs } = options;
  const partitions = await loadPartitions(pool);
  const announcements = new Announcements(announcementMs);
  const recent = new RecentRows(pool, listener);
  const id = await installationOf(pool);
  const logId = (topic: TopicName): string => `postgres:${id}:${topic}`;

  const partitionsOf = (topic: TopicName): readonly KnownPartition[] => partitions.get(topic) ?? [];

  const partitionId = partitionIdsOf(partitions);

  const ranges = async (topic: TopicName): Promise<readonly PartitionRange[]> => {
    const { rows } = await pool.query<{ partition: number; next: number }>(
      `SELECT partition, next_offset AS next FROM log.partitions WHERE topic = $1
       ORDER BY partition`,
      [topic],
    );
    return rows.map((row) => ({ ...row, first: 0 }));
  };

  const read: EventLog['read'] = (topic, partition, ...range) => {
    const known = partitionsOf(topic)[partition];
    if (!known) throw new RangeError(`${topic} has no partition ${partition}`);
    return readOffsetRange(pool, known, ...range);
  };

  const log: EventLog = {
    logId,
    // The transactions that decide events append them.
    mayRepeatLedger: false,
    append: appendTo(pool, partitions, announcements),
    read,
    ranges,
    subscribe: (subscribeOptions) =>
      startPostgresSubscription(subscribeOptions, {
        pool,
        logger,
        listener,
        recent,
        logId,
        ranges,
        partitionsOf,
      }),
    // Pool and listener belong to the caller.
    close() {
      recent.close();
      return Promise.resolve();
    },
  };

  const outbox: Outbox = {
    record(events) {
      if (events.length === 0) return { statements: [], resultOf: () => noPosition };
      const startedAt = performance.now();
      const records = events.map((event) => ({
        partitionId: partitionId(topicOf(event), event.subject),
        key: event.subject,
        sequence: event.sequence,
        value: writeEvent(event),
      }));
      const announced = announcements.due(events.map(topicOf));
      return {
        statements: [insertRecords(records, announced)],
        resultOf: (results) =>
          outboxPositionOf((results.at(-1)?.rows ?? []) as OutboxPosition[number][]),
        afterCommit() {
          announcements.committed(announced);
          onRecorded?.(events, startedAt);
        },
      };
    },

    positionOf(events, recorded) {
      const ids = new Set(events.map((event) => partitionId(topicOf(event), event.subject)));
      return recorded.filter((end) => ids.has(end.partitionId));
    },

    async after(postgres, topic, known, limit): Promise<readonly LinklogEvent[]> {
      const { rows } = await postgres.query<{ value: string }>({
        name: 'outbox-after',
        // A look-up for each subject: without sorts, as in lists, PostgreSQL would join all records with all subjects.
        text: `SELECT e.value
               FROM unnest($1::text[], $2::smallint[], $3::bigint[]) AS known (key, partition_id, sequence)
               CROSS JOIN LATERAL (
                 SELECT key, ledger_sequence, value FROM log.records
                 WHERE key = known.key AND partition_id = known.partition_id
                   AND ledger_sequence > known.sequence
                 ORDER BY ledger_sequence OFFSET 0
               ) e
               ORDER BY e.key, e.ledger_sequence LIMIT $4`,
        values: [
          known.map(({ subject }) => subject),
          known.map(({ subject }) => partitionId(topic, subject)),
          known.map(({ sequence }) => sequence),
          limit ?? null,
        ],
      });
      const events: LinklogEvent[] = [];
      for (const { value } of rows) {
        // Other requests wait for one portion rather than for all events of a bulk change.
        if (events.length % eventsPerIteration === eventsPerIteration - 1) await nextIteration();
        events.push(readEvent(value));
      }
      return events;
    },
  };

  return { log, outbox };
};

export type PostgresLog = Readonly<Awaited<ReturnType<typeof openPostgresLog>>>;
