import type { TopicName } from '../../../schemas/events/topics.js';
import type { EventLog, KnownEnd, NewRecord } from '../event-log/port.js';
import { untilAborted } from '../concurrency/deferred.js';
import { Backoff } from '../concurrency/retry.js';
import { WakeUp } from '../concurrency/wake-up.js';
import type { Logger } from '../logging.js';
import { advisoryLocks } from '../postgres/advisory-locks.js';
import type { NotificationListener } from '../postgres/listener.js';
import { holdLock } from '../postgres/own-connection.js';
import { valuesByField, type Pool } from '../postgres/pool.js';

/** Records of a partition in one round. */
const maxRecords = 1_000;
/** How long a relay that heard of no event waits before it looks all the same: it hears of each. */
const idleMs = 5_000;
const checkpointEveryMs = 1_000;
/** How long sent events stay at least, so that they can be looked up. */
const keptFor = '1 day';
const maxDeleted = 5_000;

/** The sent part of a partition of the outbox: below `next`. */
interface Sent {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly next: number;
}

/** The next events to send, by partition. The ledger's events have a row each. */
const findDue = async (pool: Pool) => {
  const { rows } = await pool.query<{
    partitionId: number;
    topic: TopicName;
    offset: number;
    key: string;
    value: string;
  }>({
    name: 'relay-due',
    text: `SELECT p.id AS "partitionId", p.topic, e.first_offset AS offset, e.key, e.value
           FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id
           CROSS JOIN LATERAL (
             SELECT first_offset, key, value FROM log.records
             WHERE partition_id = p.id AND first_offset >= r.next_offset
             ORDER BY first_offset LIMIT $1
           ) e
           WHERE r.next_offset < p.next_offset`,
    values: [maxRecords],
  });
  const due = new Map<number, Sent & { records: NewRecord[] }>();
  for (const { partitionId, topic, offset, key, value } of rows) {
    const records = due.get(partitionId)?.records ?? [];
    records.push({ key, value });
    due.set(partitionId, { partitionId, topic, next: offset + 1, records });
  }
  return [...due.values()];
};

/** Saves what was sent, and notifies those who wait. A late zombie takes nothing back. */
const markSent = async (pool: Pool, sent: readonly Sent[]): Promise<void> => {
  await pool.query({
    name: 'relay-sent',
    text: `WITH sent AS (
             SELECT * FROM unnest($1::smallint[], $2::bigint[]) AS s (partition_id, next_offset)
           ),
           moved AS (
             UPDATE log.relayed r SET next_offset = greatest(r.next_offset, s.next_offset)
             FROM sent s WHERE r.partition_id = s.partition_id
           )
           SELECT pg_notify('linklog_sent', $3)`,
    values: [
      ...valuesByField(sent, 'partitionId', 'next'),
      JSON.stringify(sent.map(({ partitionId, next }) => [partitionId, next])),
    ],
  });
};

/**
 * Saves where the log proper ends now: all that was sent is before that. One checkpoint stays of each
 * minute. A database that does not know what was sent is another one than it was sent from.
 */
export const saveRelayCheckpoints = async (
  pool: Pool,
  log: Pick<EventLog, 'ranges'>,
  sent: readonly Sent[],
): Promise<void> => {
  if (sent.length === 0) return;
  const names = [...new Set(sent.map(({ topic }) => topic))];
  const ends = new Map(
    await Promise.all(names.map(async (topic) => [topic, await log.ranges(topic)] as const)),
  );
  const ranges = [...ends].flatMap(([topic, all]) => all.map((range) => ({ topic, ...range })));
  await pool.query(
    `WITH ends AS (
       SELECT s.partition_id, s.next_offset, e.log_offset
       FROM unnest($1::smallint[], $2::bigint[]) AS s (partition_id, next_offset)
       JOIN log.relayed r ON r.partition_id = s.partition_id AND r.next_offset >= s.next_offset
       JOIN log.partitions p ON p.id = s.partition_id
       JOIN unnest($3::text[], $4::smallint[], $5::bigint[]) AS e (topic, partition, log_offset)
         USING (topic, partition)
     ),
     replaced AS (
       DELETE FROM log.relay_checkpoints c USING ends
       WHERE c.partition_id = ends.partition_id AND c.next_offset < ends.next_offset
         AND c.saved_at >= date_trunc('minute', clock_timestamp())
     )
     INSERT INTO log.relay_checkpoints (partition_id, next_offset, log_offset)
     SELECT * FROM ends ON CONFLICT DO NOTHING`,
    [
      ...valuesByField(sent, 'partitionId', 'next'),
      ...valuesByField(ranges, 'topic', 'partition', 'next'),
    ],
  );
};

/** The end of a partition of the log proper at its newest checkpoint: the outbox had all below. */
export const sentThrough = async (
  pool: Pool,
  topic: TopicName,
  partition: number,
): Promise<number> => {
  const { rows } = await pool.query<{ through: number }>(
    `SELECT coalesce(max(c.log_offset), 0) AS through FROM log.partitions p
     JOIN log.relay_checkpoints c ON c.partition_id = p.id
     WHERE p.topic = $1 AND p.partition = $2`,
    [topic, partition],
  );
  return rows[0]?.through ?? 0;
};

/** The ends of the log proper at the newest checkpoint of each partition. */
export const sentEnds = async (pool: Pool): Promise<readonly KnownEnd[]> => {
  const { rows } = await pool.query<KnownEnd>(
    `SELECT p.topic, p.partition, max(c.log_offset) AS next FROM log.partitions p
     JOIN log.relay_checkpoints c ON c.partition_id = p.id GROUP BY p.id`,
  );
  return rows;
};

/** The topics that a relay is to send to: those of the version that was started last. */
export const relayedTopics = async (pool: Pool): Promise<ReadonlySet<TopicName>> => {
  const { rows } = await pool.query<{ topic: TopicName }>(
    `SELECT DISTINCT p.topic FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id`,
  );
  return new Set(rows.map(({ topic }) => topic));
};

/** What the projections have read of the log proper. */
export interface ProjectedEvents {
  /** The offset below which every projection has applied, or set aside, a partition. */
  appliedThrough(topic: TopicName, partition: number): Promise<number>;
  /** Subjects of which a projection has set events aside. */
  setAside(topic: TopicName): Promise<readonly string[]>;
}

/**
 * Deletes events that were sent a day ago and that every projection has applied, a bounded number at
 * a time; returns how many. Those of a subject that a projection has set aside stay: whoever reads the
 * projection adds them, so a block that could not be applied holds all the same.
 */
export const pruneSent = async (pool: Pool, projected: ProjectedEvents): Promise<number> => {
  const { rows: partitions } = await pool.query<{
    id: number;
    topic: TopicName;
    partition: number;
  }>(
    `SELECT DISTINCT p.id, p.topic, p.partition
     FROM log.partitions p JOIN log.relay_checkpoints m ON m.partition_id = p.id
     WHERE m.saved_at < clock_timestamp() - interval '${keptFor}'`,
  );
  let deleted = 0;
  for (const { id, topic, partition } of partitions) {
    const applied = await projected.appliedThrough(topic, partition);
    const setAside = await projected.setAside(topic);
    const { rowCount } = await pool.query(
      `WITH passed AS (
         SELECT max(next_offset) AS next_offset FROM log.relay_checkpoints
         WHERE partition_id = $1 AND log_offset <= $2
           AND saved_at < clock_timestamp() - interval '${keptFor}'
       ),
       forgotten AS (
         DELETE FROM log.relay_checkpoints m USING passed
         WHERE m.partition_id = $1 AND m.next_offset < passed.next_offset
       )
       DELETE FROM log.records e WHERE (e.partition_id, e.first_offset) IN (
         SELECT partition_id, first_offset FROM log.records, passed
         WHERE partition_id = $1 AND first_offset < passed.next_offset AND key <> ALL ($3::text[])
         ORDER BY first_offset LIMIT ${maxDeleted}
       )`,
      [id, applied, setAside],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
};

/**
 * Sends the outbox's events to the log proper: partition by partition in order, from the first one
 * that is not marked as sent, each round awaited before the next. So a crash, or a relay that does
 * not know yet that another has taken over, can only repeat events, which readers drop by sequence.
 */
export const startRelay = (options: {
  readonly pool: Pool;
  readonly url: string;
  readonly listener: NotificationListener;
  readonly log: EventLog;
  /** Resolves when events may be sent. */
  readonly mayBegin: () => Promise<void>;
  readonly logger: Logger;
}) => {
  const { pool, url, listener, log, mayBegin, logger } = options;

  const work = async (signal: AbortSignal): Promise<void> => {
    const recorded = new WakeUp();
    const checkpointed = new Map<number, number>();
    /** What no checkpoint covers yet, by partition. */
    const uncovered = new Map<number, Sent>();

    const saveCheckpoints = async (): Promise<void> => {
      const now = performance.now();
      const due = [...uncovered.values()].filter(
        ({ partitionId }) =>
          now - (checkpointed.get(partitionId) ?? -checkpointEveryMs) >= checkpointEveryMs,
      );
      await saveRelayCheckpoints(pool, log, due);
      for (const { partitionId } of due) {
        checkpointed.set(partitionId, now);
        uncovered.delete(partitionId);
      }
    };

    /** What the log has and PostgreSQL could not be told: sent again, it would be in the log twice. */
    let unmarked: readonly Sent[] = [];
    const mark = async (): Promise<void> => {
      if (unmarked.length === 0) return;
      await markSent(pool, unmarked);
      for (const sent of unmarked) uncovered.set(sent.partitionId, sent);
      unmarked = [];
    };

    /** Sends what is due, of each partition a part; returns whether there was anything. */
    const sendDue = async (): Promise<boolean> => {
      await mark();
      const due = await findDue(pool);
      // After the stop, another relay sends them.
      if (due.length === 0 || signal.aborted) return false;
      const ends = await Promise.allSettled(
        due.map(({ topic, records }) => log.append(topic, records)),
      );
      unmarked = due.filter((_, index) => ends[index]?.status === 'fulfilled');
      await mark();
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed) throw failed.reason;
      return true;
    };

    const relay = async (): Promise<void> => {
      const backoff = new Backoff();
      while (!signal.aborted) {
        try {
          await mayBegin();
          const hasSent = await sendDue();
          await saveCheckpoints();
          if (!hasSent) await recorded.sleep(uncovered.size > 0 ? checkpointEveryMs : idleMs);
          backoff.reset();
        } catch (err) {
          logger.warn({ err }, 'events could not be relayed to the log; trying again');
          await backoff.pause(signal);
        }
      }
    };

    const look = (): void => {
      recorded.wake();
    };
    signal.addEventListener('abort', look);
    const unsubscribe = [listener.on('linklog_log', look), listener.onGap(look)];
    try {
      // A log that is away is not waited for: what is being sent may be sent again by another.
      await untilAborted(relay(), signal);
    } finally {
      for (const stop of unsubscribe) stop();
    }
  };

  return holdLock({ url, lock: advisoryLocks.relay, name: 'relay', work, logger });
};
