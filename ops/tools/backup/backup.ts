import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { closeAllMinutes } from '../../../command-api/admission/metering.js';
import { shippedSoFar } from '../../../redirect-edge/spool/shipped.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import { ledgerTopics } from '../../ledger/rebuild/rebuild.js';
import { findUnsent, readUnsent, sentPositions, type UnsentEvents } from '../../ledger/unsent.js';
import {
  LogIncomplete,
  wholeRanges,
  type Batch,
  type EventLog,
  type PartitionRange,
} from '../../event-log/port.js';
import { groupBy } from '../../platform/group-by.js';
import { linklogVersion } from '../../platform/files/project-file.js';
import { backupFormat, recordsIn, type BackupBatch, type BackupHead } from './format.js';
import { readRange } from '../audit/as-of/read.js';
import type { CommandDatabase } from '../cli/database.js';
import type { ProgressOptions } from '../cli/long-work.js';

type Append = (chunk: Buffer) => Promise<void>;

/** Stores what `write` appends; `writeNewFile` discards it if `write` rejects. */
export type BackupTarget = (write: (append: Append) => Promise<void>) => Promise<void>;

interface BackupOptions extends Omit<CommandDatabase, 'logger'>, ProgressOptions {
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
