import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { closeAllMinutes } from '../../../command-api/admission/metering.js';
import { shippedSoFar } from '../../../redirect-edge/spool/shipped.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import { ledgerTopics } from '../../ledger/rebuild/rebuild.js';
import { decided } from '../../ledger/behind-log.js';
import {
  LogIncomplete,
  wholeRanges,
  type Batch,
  type EventLog,
  type LogRecord,
  type PartitionRange,
  type TopicPartition,
} from '../../event-log/port.js';
import { readOffsetRange } from '../../event-log/postgres-batches.js';
import type { KnownPartition } from '../../event-log/postgres-partitions.js';
import { valuesByField, type Pool } from '../../platform/postgres/pool.js';
import { groupBy } from '../../platform/collections.js';
import { linklogVersion } from '../../platform/files/project-file.js';
import { backupFormat, recordsIn, type BackupBatch, type BackupHead } from './format.js';
import { readRange } from '../audit/as-of/read.js';
import type { CommandDatabase } from '../cli/database.js';
import type { ProgressOptions } from '../cli/long-work.js';

type Append = (chunk: Buffer) => Promise<void>;

/** Stores what `write` appends; `writeNewFile` discards it if `write` rejects. */
export type BackupTarget = (write: (append: Append) => Promise<void>) => Promise<void>;

interface BackupOptions extends Omit<CommandDatabase, 'logger' | 'topicSettings'>, ProgressOptions {
  readonly spoolRoot: string;
  readonly target: BackupTarget;
  /** How long to wait for spooled visits to be shipped; 10 s by default. */
  readonly spoolWithinMs?: number;
}

/**
 * Returns the ranges of all topics, in the order of the file. Topics that refer to others are read first, so that the
 * backup has all records that its records refer to.
 */
const rangesOf = async (log: EventLog) => {
  const ends = [];
  for (const topic of [...ledgerTopics].reverse()) {
    const ranges = await wholeRanges(log, topic);
    ends.unshift(...ranges.map((range) => ({ topic, ...range })));
  }
  return ends;
};

/** @throws LogIncomplete */
const requireWholeLog = async ({ findFaults }: BackupOptions): Promise<void> => {
  const fault = (await findFaults()).find(({ kind }) => kind !== 'extended');
  if (fault) throw new LogIncomplete(fault.message);
};

/**
 * Flushes spooled visits and the calls of open minutes. When it resolves, all acknowledged changes are in the log or the
 * outbox. The outbox of a PostgreSQL that is older than the log (`isOutdated`) is ignored.
 */
const flush = async ({
  pool,
  outbox,
  findUnknownEvent,
  spoolRoot,
  spoolWithinMs = 10_000,
}: BackupOptions) => {
  if (await findUnknownEvent()) return { unshippedBytes: 0, isOutdated: true };
  const unshippedBytes = await shippedSoFar(spoolRoot, spoolWithinMs);
  await closeAllMinutes(pool, outbox);
  return { unshippedBytes, isOutdated: false };
};

/** The relay's progress in a partition of the outbox. */
interface SentPosition extends KnownPartition {
  /** The first offset of the outbox that is not marked as sent. */
  readonly next: number;
}

/** Offsets of the outbox from `from` to `to` (exclusive). */
interface UnsentEvents extends KnownPartition {
  readonly from: number;
  readonly to: number;
}

/** Returns the positions of all partitions; empty if the outbox is the log. */
const sentPositions = async (pool: Pool): Promise<readonly SentPosition[]> => {
  const { rows } = await pool.query<SentPosition>(
    `SELECT p.id, p.topic, p.partition, r.next_offset AS next
     FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id`,
  );
  return rows;
};

/** Returns the offset after the last of these records in the outbox; at least `next`. */
const offsetAfter = async (
  pool: Pool,
  { id, topic, next }: SentPosition,
  records: readonly LogRecord[],
): Promise<number> => {
  const { rows } = await pool.query<{ after: number }>(
    `SELECT coalesce(max(e.first_offset) + 1, $2) AS "after"
     FROM unnest($3::text[], $4::bigint[]) AS seen (key, sequence)
     JOIN log.records e ON e.key = seen.key AND e.ledger_sequence = seen.sequence
      AND e.partition_id = $1 AND e.first_offset >= $2`,
    [id, next, ...valuesByField(decided(topic, records), 'subject', 'sequence')],
  );
  return rows[0]?.after ?? next;
};

/**
 * Returns the recorded events that the log does not have before its `ends`. The positions must be read before the ends, so
 * that each event is either before an end or in the result. The relay sends a partition in order, so sent events are
 * contiguous.
 */
const findUnsent = async (
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'read'> },
  positions: readonly SentPosition[],
  ends: readonly (PartitionRange & TopicPartition)[],
): Promise<readonly UnsentEvents[]> => {
  // One statement, so that an event is included together with the events that it refers to.
  const { rows } = await pool.query<{ id: number; next: number }>(
    'SELECT id, next_offset AS next FROM log.partitions',
  );
  const recorded = new Map(rows.map(({ id, next }) => [id, next]));
  const unsent: UnsentEvents[] = [];
  for (const position of positions) {
    const { id, topic, partition, next } = position;
    const to = recorded.get(id) ?? next;
    if (to <= next) continue;
    const end = ends.find((range) => range.topic === topic && range.partition === partition);
    if (!end) throw new RangeError(`the log has no partition ${topic}/${partition}`);
    let from = next;
    // From the start, because a late relay may have sent events after any checkpoint.
    for await (const { records } of log.read(topic, partition, end.first, end.next)) {
      from = Math.max(from, await offsetAfter(pool, position, records));
    }
    if (from < to) unsent.push({ id, topic, partition, from, to });
  }
  return unsent;
};

/** Reads the events in batches of bounded size. @throws if the outbox lacks an event */
async function* readUnsent(pool: Pool, unsent: UnsentEvents): AsyncGenerator<Batch> {
  const { topic, partition, from, to } = unsent;
  let next = from;
  for await (const batch of readOffsetRange(pool, unsent, from, to)) {
    if (batch.records[0]?.offset !== next) break;
    next += batch.records.length;
    yield batch;
  }
  if (next !== to) throw new Error(`the outbox has no event at ${next} of ${topic}/${partition}`);
}

/** A partition of the log, with its events in the outbox that are not relayed yet. */
interface BackupPart {
  readonly topic: TopicName;
  readonly range: PartitionRange;
  readonly unsent: UnsentEvents | null;
}

/** Returns the parts in the order of the file. @throws LogIncomplete */
const partsOf = async (
  { pool, log }: BackupOptions,
  isOutdated: boolean,
): Promise<readonly BackupPart[]> => {
  const positions = isOutdated ? [] : await sentPositions(pool);
  const ends = await rangesOf(log);
  const unsent = await findUnsent({ pool, log }, positions, ends);
  return ends.map(({ topic, ...range }) => ({
    topic,
    range,
    unsent:
      unsent.find((events) => events.topic === topic && events.partition === range.partition) ??
      null,
  }));
};

const topicsOf = (parts: readonly BackupPart[]): BackupHead['topics'] =>
  [...groupBy(parts, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ range, unsent }) => ({
      ...range,
      next: range.next + (unsent ? unsent.to - unsent.from : 0),
    })),
  }));

async function* readPart(
  { pool, log }: BackupOptions,
  { topic, range, unsent }: BackupPart,
): AsyncGenerator<Batch> {
  yield* readRange(log, topic, range);
  if (unsent) yield* readUnsent(pool, unsent);
}

/** A fifth of the CPU time of the default level; files are a quarter larger. */
const gzipLevel = 1;

export const writeBackup = async (
  head: BackupHead,
  batches: AsyncIterable<BackupBatch>,
  append: Append,
  signal?: AbortSignal,
): Promise<{ readonly records: number; readonly bytes: number }> => {
  let records = 0;
  let bytes = 0;

  async function* lines(): AsyncGenerator<string> {
    for await (const batch of batches) {
      yield `${JSON.stringify(batch)}\n`;
      records += batch.records.length;
    }
    yield `${JSON.stringify({ end: { records } })}\n`;
  }

  async function* framed(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    const hashed = (chunk: Buffer): Buffer => {
      hash.update(chunk);
      return chunk;
    };
    yield hashed(Buffer.from(`${JSON.stringify(head)}\n`));
    for await (const chunk of body) yield hashed(chunk);
    yield hash.digest();
  }

  const written = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      await append(chunk);
      bytes += chunk.length;
    }
  };

  await pipeline(lines, createGzip({ level: gzipLevel }), framed, written, { signal });
  return { records, bytes };
};

export const takeBackup = async (options: BackupOptions) => {
  const { target, progress, signal } = options;
  let written: Awaited<ReturnType<typeof writeBackup>> | undefined;
  let unshippedBytes = 0;

  const write = async (append: Append): Promise<void> => {
    await requireWholeLog(options);
    const flushed = await flush(options);
    ({ unshippedBytes } = flushed);
    signal?.throwIfAborted();
    const parts = await partsOf(options, flushed.isOutdated);
    const head: BackupHead = {
      linklogBackup: backupFormat,
      linklog: linklogVersion(),
      createdAt: new Date().toISOString(),
      topics: topicsOf(parts),
    };
    const total = recordsIn(head);
    async function* batches(): AsyncGenerator<BackupBatch> {
      let done = 0;
      progress?.(done, total);
      for (const part of parts) {
        for await (const { topic, partition, records } of readPart(options, part)) {
          yield { topic, partition, records: records.map(({ key, value }) => ({ key, value })) };
          done += records.length;
          progress?.(done, total);
        }
      }
    }
    written = await writeBackup(head, batches(), append, signal);
  };

  try {
    await target(write);
  } catch (error) {
    // An aborted pipeline rejects with another error than the signal's reason.
    signal?.throwIfAborted();
    throw error;
  }
  if (!written) throw new Error('target() resolved before the backup was written');
  return { ...written, unshippedBytes };
};
