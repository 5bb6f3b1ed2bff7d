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
import { writeNewFile } from '../../platform/files/new-file.js';
import { readRange } from '../audit/as-of/read.js';
import type { CommandDatabase } from '../cli/database.js';
import type { Watch } from '../cli/long-work.js';

interface BackupOptions extends Omit<CommandDatabase, 'logger'>, Watch {
  /** Where the edges' spools are. */
  readonly spoolRoot: string;
  readonly file: string;
  /** Whether a file that is there already may be replaced. */
  readonly replace: boolean;
  /** How long visits that wait in a spool may take to get into the log; 10 s unless told. */
  readonly spoolWithinMs?: number;
}

/**
 * The ranges of all topics, in the order of the file. Topics that refer to others are asked first.
 * So the backup holds whatever a record in it refers to, and an event that comes meanwhile is missing
 * together with its consequences.
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
 * Everything that was acknowledged before this is in the log or the outbox when it resolves: visits that stand
 * in a spool, and calls of minutes that are still open. So these two are the whole backup. Of a PostgreSQL that is
 * older than the log (`isOutdated`), nothing is in it.
 */
const gather = async (
  options: BackupOptions,
): Promise<{ readonly unshippedBytes: number; readonly isOutdated: boolean }> => {
  const { pool, outbox, findUnknownEvent, spoolRoot, spoolWithinMs = 10_000 } = options;
  if (await findUnknownEvent()) return { unshippedBytes: 0, isOutdated: true };
  const unshippedBytes = await shippedSoFar(spoolRoot, spoolWithinMs);
  await closeAllMinutes(pool, outbox);
  return { unshippedBytes, isOutdated: false };
};

/** A partition of the log, and the events of it that wait in the outbox. */
interface BackupPart {
  readonly topic: TopicName;
  readonly range: PartitionRange;
  readonly unsent: UnsentEvents | null;
}

/** What is backed up, in the order of the file. @throws LogIncomplete */
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

/** A fifth of the time of zlib's own choice, for files that are a quarter larger. */
const gzipLevel = 1;

/** Writes a backup piece by piece; returns how many records and bytes it has. */
export const writeBackup = async (
  head: BackupHead,
  batches: AsyncIterable<BackupBatch>,
  append: (chunk: Buffer) => Promise<void>,
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

/** Writes the whole log to a file, while the service is live. */
export const takeBackup = async (options: BackupOptions) => {
  const { file, replace, progress, signal } = options;
  let written: Awaited<ReturnType<typeof writeBackup>> | undefined;
  /** Of visits that were still in a spool: they are not in the backup. */
  let unshippedBytes = 0;

  const write = async (append: (chunk: Buffer) => Promise<void>): Promise<void> => {
    await requireWholeLog(options);
    const gathered = await gather(options);
    ({ unshippedBytes } = gathered);
    signal?.throwIfAborted();
    const parts = await partsOf(options, gathered.isOutdated);
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
    await writeNewFile(file, { replace }, write);
  } catch (error) {
    // A pipeline rejects with an error of its own; who ended it said why.
    signal?.throwIfAborted();
    throw error;
  }
  if (!written) throw new Error('A backup that was written has an outcome');
  return { ...written, unshippedBytes };
};
