import type { TopicName } from '../../../schemas/events/topics.js';
import type { EventLog, KnownEnd, NewRecord, TopicPartition } from '../port.js';
import type { KnownPartition } from '../postgres-partitions.js';
import { groupBy } from '../../platform/collections.js';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { untilAborted, WakeUp } from '../../platform/concurrency/deferred.js';
import { Backoff } from '../../platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../../platform/logging.js';
import { endAfter } from '../../platform/tracing.js';
import { requestsOf, startAppendSpans } from '../append-spans.js';
import { advisoryLocks } from '../../advisory-locks.js';
import { generation } from '../../platform/postgres/generation.js';
import type { NotificationListener } from '../../platform/postgres/listener.js';
import { holdLock } from '../../platform/postgres/own-connection.js';
import { valuesByField, type Pool } from '../../platform/postgres/pool.js';

/** Records of a partition in one round. */
const maxRecords = 1_000;
/** How long a round waits for its appends (ms). A partition whose append takes longer is in none of the next rounds. */
const roundMs = 100;
/** Pauses of a partition after failed appends. They are short, because a new leader is elected within seconds. */
const appendPauses = { firstMs: 50, longestMs: 250 };
/** Interval of queries without a notification (ms). */
const idleMs = 5_000;
const checkpointEveryMs = 1_000;
/** How long sent events are retained for queries. */
const retention = '1 day';
const maxDeleted = 5_000;
/** Interval of the checks that sent events were applied (ms). */
const checkEveryMs = 30_000;
/** Events of a partition in one check. */
const maxChecked = 5_000;

/** The events of an outbox partition below `next` were sent. */
interface Sent {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly next: number;
}

interface Due extends Sent {
  readonly records: NewRecord[];
}

/** Returns the next events to send, by partition, except of `busy` ones. Each event of the ledger has its own row. */
const findDue = async (pool: Pool, busy: Iterable<number>): Promise<readonly Due[]> => {
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
           WHERE r.next_offset < p.next_offset AND p.id <> ALL ($2::smallint[])`,
    values: [maxRecords, [...busy]],
  });
  const due = new Map<number, Due>();
  for (const { partitionId, topic, offset, key, value } of rows) {
    const records = due.get(partitionId)?.records ?? [];
    records.push({ key, value });
    due.set(partitionId, { partitionId, topic, next: offset + 1, records });
  }
  return [...due.values()];
};

/** Saves the progress and notifies waiting requests. A late relay never lowers the progress. */
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
           SELECT pg_notify('linklog_sent', '')`,
    values: valuesByField(sent, 'partitionId', 'next'),
  });
};

/**
 * Saves the current ends of the log, which are after all sent events. One checkpoint for each minute is retained. Progress
 * that is not in `log.relayed` is of another database and ignored.
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
  const ranges = [...ends].flatMap(([topic, partitions]) =>
    partitions.map((range) => ({ topic, ...range })),
  );
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

/** Returns the end of each partition of the log at its newest checkpoint. */
export const sentEnds = async (pool: Pool): Promise<readonly KnownEnd[]> => {
  const { rows } = await pool.query<KnownEnd>(
    `SELECT p.topic, p.partition, max(c.log_offset) AS next FROM log.partitions p
     JOIN log.relay_checkpoints c ON c.partition_id = p.id GROUP BY p.id`,
  );
  return rows;
};

/** Returns the end of a partition of the log at its newest checkpoint. */
export const sentThrough = async (
  pool: Pool,
  topic: TopicName,
  partition: number,
): Promise<number> => {
  const ends = await sentEnds(pool);
  return ends.find((end) => end.topic === topic && end.partition === partition)?.next ?? 0;
};

/** Returns the topics that a relay sends to: those of the version that was started last. */
export const relayedTopics = async (pool: Pool): Promise<ReadonlySet<TopicName>> => {
  const { rows } = await pool.query<{ topic: TopicName }>(
    `SELECT DISTINCT p.topic FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id`,
  );
  return new Set(rows.map(({ topic }) => topic));
};

/** Whether an event was applied; `overtaken`: only a later event of its subject was, so it cannot be applied any more. */
export type SequenceState = 'applied' | 'absent' | 'overtaken';

export interface ProjectedEvents {
  /** Returns the offset below which every projection has applied or set aside all events. */
  appliedThrough(topic: TopicName, partition: number): Promise<number>;
  /** Returns the subjects with dead letters. */
  setAside(topic: TopicName): Promise<readonly string[]>;
  states(
    topic: TopicName,
    partition: number,
    events: readonly SentEvent[],
  ): Promise<readonly SequenceState[]>;
}

interface SentEvent {
  readonly subject: string;
  readonly sequence: number;
}

/** An event that the log acknowledged and that no projection has found. */
type UnappliedEvent = SentEvent & TopicPartition;

/** A partition of the outbox. Every projection has read the events below `passed`. */
interface CheckedPartition extends KnownPartition {
  readonly checked: number;
  readonly passed: number;
}

type Row = SentEvent & { readonly offset: number };

const statesOf = async (
  projected: ProjectedEvents,
  { topic, partition }: CheckedPartition,
  rows: readonly Row[],
): Promise<readonly (Row & { readonly state: SequenceState })[]> => {
  if (rows.length === 0) return [];
  const states = await projected.states(topic, partition, rows);
  const setAside = new Set(await projected.setAside(topic));
  return rows.map((row, index) => {
    // An event that was set aside is in the log; pruning retains its row.
    return { ...row, state: setAside.has(row.subject) ? 'applied' : (states[index] ?? 'absent') };
  });
};

/** Checks unapplied events again, which may have been sent again. */
const recheck = async (
  pool: Pool,
  projected: ProjectedEvents,
  partition: CheckedPartition,
): Promise<void> => {
  const { rows } = await pool.query<Row>(
    `SELECT u.first_offset AS offset, e.key AS subject, e.ledger_sequence AS sequence
     FROM log.unapplied u JOIN log.records e USING (partition_id, first_offset)
     WHERE u.partition_id = $1 AND NOT u.overtaken ORDER BY u.first_offset LIMIT ${maxChecked}`,
    [partition.id],
  );
  const found = await statesOf(projected, partition, rows);
  const offsets = (state: SequenceState): readonly number[] =>
    found.filter((row) => row.state === state).map(({ offset }) => offset);
  await pool.query(
    `WITH applied AS (
       DELETE FROM log.unapplied WHERE partition_id = $1 AND first_offset = ANY ($2::bigint[])
     )
     UPDATE log.unapplied SET overtaken = true
     WHERE partition_id = $1 AND first_offset = ANY ($3::bigint[])`,
    [partition.id, offsets('applied'), offsets('overtaken')],
  );
};

/** Checks the next events of a partition. Returns the absent ones, and the next offset to check. */
const checkNext = async (
  pool: Pool,
  projected: ProjectedEvents,
  partition: CheckedPartition,
  from: number,
): Promise<{ readonly absent: readonly Row[]; readonly next: number }> => {
  const { rows } = await pool.query<Row>({
    name: 'relay-check',
    text: `SELECT first_offset AS offset, key AS subject, ledger_sequence AS sequence FROM log.records
           WHERE partition_id = $1 AND first_offset >= $2 AND first_offset < $3
             AND ledger_sequence IS NOT NULL
           ORDER BY first_offset LIMIT ${maxChecked}`,
    values: [partition.id, from, partition.passed],
  });
  const found = await statesOf(projected, partition, rows);
  const unapplied = found.filter(({ state }) => state !== 'applied');
  const next = rows.length < maxChecked ? partition.passed : (rows.at(-1)?.offset ?? 0) + 1;
  await pool.query(
    `WITH inserted AS (
       INSERT INTO log.unapplied (partition_id, first_offset, overtaken)
       SELECT $1, * FROM unnest($2::bigint[], $3::boolean[]) ON CONFLICT DO NOTHING
     )
     UPDATE log.relayed SET checked_offset = greatest(checked_offset, $4::bigint) WHERE partition_id = $1`,
    [
      partition.id,
      unapplied.map(({ offset }) => offset),
      unapplied.map(({ state }) => state === 'overtaken'),
      next,
    ],
  );
  return { absent: unapplied.filter(({ state }) => state === 'absent'), next };
};

/**
 * Checks that sent events were applied, because a log may acknowledge an event without storing it. Returns the newly found
 * absent events.
 *
 * @throws the signal's reason
 */
export const checkSent = async (
  pool: Pool,
  projected: ProjectedEvents,
  signal?: AbortSignal,
): Promise<readonly UnappliedEvent[]> => {
  const { rows: partitions } = await pool.query<Omit<CheckedPartition, 'passed'>>(
    `SELECT p.id, p.topic, p.partition, r.checked_offset AS checked
     FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id
     WHERE r.checked_offset < r.next_offset OR EXISTS (
       SELECT FROM log.unapplied u WHERE u.partition_id = p.id AND NOT u.overtaken)
     ORDER BY p.id`,
  );
  const found: UnappliedEvent[] = [];
  for (const known of partitions) {
    signal?.throwIfAborted();
    const { topic, partition } = known;
    const applied = await projected.appliedThrough(topic, partition);
    const { rows } = await pool.query<{ passed: number }>(
      `SELECT coalesce(max(next_offset), 0) AS passed FROM log.relay_checkpoints
       WHERE partition_id = $1 AND log_offset <= $2`,
      [known.id, applied],
    );
    const checked = { ...known, passed: rows[0]?.passed ?? 0 };
    await recheck(pool, projected, checked);
    for (let from = known.checked; from < checked.passed;) {
      signal?.throwIfAborted();
      const { absent, next } = await checkNext(pool, projected, checked, from);
      found.push(
        ...absent.map(({ subject, sequence }) => ({ topic, partition, subject, sequence })),
      );
      from = next;
    }
  }
  return found;
};

/**
 * Sends absent events again, in order, unless a later event of the subject was sent and is not checked yet: if the log has
 * it, projections would drop the earlier one as a repeat.
 */
export const sendAgain = async (pool: Pool, log: Pick<EventLog, 'append'>): Promise<number> => {
  const { rows } = await pool.query<NewRecord & { readonly topic: TopicName }>(
    `SELECT p.topic, e.key, e.value
     FROM log.unapplied u JOIN log.records e USING (partition_id, first_offset)
     JOIN log.partitions p ON p.id = u.partition_id
     JOIN log.relayed r ON r.partition_id = u.partition_id
     WHERE NOT u.overtaken AND NOT EXISTS (
       SELECT FROM log.records l
       WHERE l.key = e.key AND l.partition_id = e.partition_id
         AND l.ledger_sequence > e.ledger_sequence
         AND l.first_offset >= r.checked_offset AND l.first_offset < r.next_offset)
     ORDER BY u.partition_id, u.first_offset LIMIT ${maxRecords}`,
  );
  for (const [topic, records] of groupBy(rows, (row) => row.topic)) {
    await log.append(
      topic,
      records.map(({ key, value }) => ({ key, value })),
    );
  }
  return rows.length;
};

/**
 * Deletes a bounded number of events that were sent a day ago and were applied by every projection. Returns their number.
 * Events of subjects with dead letters stay, because readers of the projection add them: a block takes effect although it
 * could not be applied.
 */
export const pruneSent = async (pool: Pool, projected: ProjectedEvents): Promise<number> => {
  const { rows: partitions } = await pool.query<KnownPartition>(
    `SELECT DISTINCT p.id, p.topic, p.partition
     FROM log.partitions p JOIN log.relay_checkpoints m ON m.partition_id = p.id
     WHERE m.saved_at < clock_timestamp() - interval '${retention}'`,
  );
  let deleted = 0;
  for (const { id, topic, partition } of partitions) {
    const applied = await projected.appliedThrough(topic, partition);
    const setAside = await projected.setAside(topic);
    const { rowCount } = await pool.query(
      `WITH passed AS (
         SELECT max(next_offset) AS next_offset FROM log.relay_checkpoints
         WHERE partition_id = $1 AND log_offset <= $2
           AND saved_at < clock_timestamp() - interval '${retention}'
       ),
       forgotten AS (
         DELETE FROM log.relay_checkpoints m USING passed
         WHERE m.partition_id = $1 AND m.next_offset < passed.next_offset
       )
       DELETE FROM log.records e WHERE (e.partition_id, e.first_offset) IN (
         SELECT partition_id, first_offset FROM log.records r, passed
         WHERE partition_id = $1 AND first_offset < passed.next_offset AND key <> ALL ($3::text[])
           AND first_offset < (SELECT checked_offset FROM log.relayed WHERE partition_id = $1)
           AND NOT EXISTS (
             SELECT FROM log.unapplied u
             WHERE u.partition_id = r.partition_id AND u.first_offset = r.first_offset)
         ORDER BY first_offset LIMIT ${maxDeleted}
       )`,
      [id, applied, setAside],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
};

/**
 * Sends the events of the outbox to the log, in the order of each partition, one append of a partition at a time. So a
 * crash, or a relay that has lost its lock, can only repeat events, which readers drop by sequence. A partition whose
 * append fails or does not end is retried independently of the others.
 */
export const startRelay = (options: {
  readonly pool: Pool;
  readonly url: string;
  readonly listener: NotificationListener;
  readonly log: EventLog;
  /** Resolves when events may be sent. */
  readonly mayBegin: () => Promise<void>;
  readonly projected: ProjectedEvents;
  readonly logger: Logger;
}) => {
  const { pool, url, listener, log, mayBegin, projected, logger } = options;
  let isActive = false;

  const append = ({ topic, records }: Due): Promise<void> => {
    const { tracer } = pool;
    if (!tracer) return log.append(topic, records);
    const events = records.map(({ value }) => JSON.parse(value) as { traceparent?: string });
    const options = { system: 'kafka', topic, events: records.length } as const;
    const spans = startAppendSpans(tracer, requestsOf(events), options);
    return endAfter(spans, () => log.append(topic, records));
  };

  const work = async (signal: AbortSignal): Promise<void> => {
    const recorded = new WakeUp();
    const checkpointed = new Map<number, number>();
    /** Progress without a checkpoint, by partition. */
    const uncovered = new Map<number, Sent>();

    const saveCheckpoints = async (): Promise<void> => {
      const now = performance.now();
      const due = [...uncovered.values()].filter(
        ({ partitionId }) =>
          now - (checkpointed.get(partitionId) ?? -checkpointEveryMs) >= checkpointEveryMs,
      );
      await saveRelayCheckpoints(pool, log, due);
      for (const sent of due) {
        checkpointed.set(sent.partitionId, now);
        // It may have made progress since.
        if (uncovered.get(sent.partitionId) === sent) uncovered.delete(sent.partitionId);
      }
    };
    const unsaved = createOutageLog(
      logger,
      'checkpoints of the relay could not be saved; trying again',
    );
    let saving: Promise<void> | undefined;
    /** Runs in the background, because the ends of a topic are unknown while a partition has no leader. */
    const saveInBackground = (): void => {
      saving ??= saveCheckpoints()
        .catch((err: unknown) => {
          if (!signal.aborted) unsaved.failed(err);
        })
        .finally(() => {
          saving = undefined;
        });
    };

    /** Partitions with an append in progress, a pause after a failure, or events that are sent but not marked. */
    const busy = new Set<number>();
    const backoffs = new Map<number, Backoff>();
    /** Sent events that PostgreSQL could not record yet; they must not be sent again. */
    const unmarked: Sent[] = [];
    const mark = async (): Promise<void> => {
      const sent = [...unmarked];
      if (sent.length === 0) return;
      await markSent(pool, sent);
      unmarked.splice(0, sent.length);
      for (const progress of sent) {
        uncovered.set(progress.partitionId, progress);
        busy.delete(progress.partitionId);
      }
    };

    const message = 'events could not be relayed to the log; trying again';
    const outage = createOutageLog(logger, message, 'events are relayed to the log again');

    /** Appends the next events of a partition. Never rejects. */
    const send = async (due: Due): Promise<void> => {
      const { partitionId, topic, next } = due;
      busy.add(partitionId);
      try {
        await append(due);
        unmarked.push({ partitionId, topic, next });
        backoffs.delete(partitionId);
        outage.recovered(String(partitionId));
        recorded.wake();
      } catch (err) {
        if (signal.aborted) return;
        outage.failed(err, String(partitionId));
        const backoff = backoffs.get(partitionId) ?? new Backoff(appendPauses);
        backoffs.set(partitionId, backoff);
        setTimeout(() => {
          busy.delete(partitionId);
          recorded.wake();
        }, backoff.next());
      }
    };

    /** Appends the next events of each partition that is not busy. */
    const sendDue = async (): Promise<void> => {
      await mark();
      const due = await findDue(pool, busy);
      if (due.length === 0 || signal.aborted) return;
      await endsWithin(Promise.all(due.map(send)), roundMs);
    };

    const unchecked = createOutageLog(logger, 'sent events could not be checked; trying again');
    let checkedAt = -Infinity;
    let checking: Promise<void> | undefined;
    let mayBeAbsent = false;
    /** Runs in the background. */
    const check = (): void => {
      if (checking || performance.now() - checkedAt < checkEveryMs) return;
      checkedAt = performance.now();
      checking = checkSent(pool, projected, signal)
        .then((found) => {
          for (const event of found) {
            logger.error(event, 'an event is missing from the log, which had acknowledged it');
          }
          mayBeAbsent = true;
          recorded.wake();
        })
        .catch((err: unknown) => {
          if (!signal.aborted) unchecked.failed(err);
        })
        .finally(() => {
          checking = undefined;
        });
    };
    /** Not during other appends, which may have later events of the same subjects. */
    const sendAbsent = async (): Promise<void> => {
      if (!mayBeAbsent || busy.size > 0 || signal.aborted) return;
      mayBeAbsent = false;
      await sendAgain(pool, log);
    };

    const relay = async (): Promise<void> => {
      const backoff = new Backoff();
      while (!signal.aborted) {
        try {
          await mayBegin();
          await sendDue();
          saveInBackground();
          check();
          await sendAbsent();
          outage.recovered();
          await recorded.sleep(uncovered.size > 0 ? checkpointEveryMs : idleMs);
          backoff.reset();
        } catch (err) {
          outage.failed(err);
          await backoff.pause(signal);
        }
      }
    };

    const wake = (): void => {
      recorded.wake();
    };
    signal.addEventListener('abort', wake);
    const unsubscribe = [listener.on('linklog_log', wake), listener.onGap(wake)];
    isActive = true;
    try {
      // Does not wait for an unreachable log; another relay may repeat the events in flight.
      await untilAborted(relay(), signal);
    } finally {
      isActive = false;
      for (const stop of unsubscribe) stop();
      await checking;
    }
  };

  // A relay of another generation can only repeat events, so this one does not wait for it to exit.
  const lock = [advisoryLocks.relay, generation];
  const holder = holdLock({ url, lock, name: 'relay', work, logger });
  return {
    /** Whether this process holds the lock and sends. */
    isActive: () => isActive,
    stop: () => holder.stop(),
  };
};
