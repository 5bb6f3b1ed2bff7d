import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { closeAllMinutes } from '../../../command-api/ledger/metering.js';
import { shippedSoFar } from '../../../redirect-edge/spool/shipped.js';
import { ledgerTopics } from '../../ledger/rebuild/rebuild.js';
import { wholeRanges, type EventLog } from '../../platform/event-log/port.js';
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
  const ranges = [];
  for (const topic of [...ledgerTopics].reverse()) {
    ranges.unshift({ topic, partitions: [...(await wholeRanges(log, topic))] });
  }
  return ranges;
};

/**
 * Everything that was acknowledged before this is in the log when it resolves: visits that stand in
 * a spool, calls of minutes that are still open, and events that the outbox has not sent yet. So
 * the log alone is the whole backup. Where PostgreSQL is older than the log, what it holds is not.
 */
const gather = async (options: BackupOptions): Promise<number> => {
  const { pool, outbox, delivery, findUnknownEvent, spoolRoot, spoolWithinMs = 10_000 } = options;
  if (await findUnknownEvent()) return 0;
  const unshippedBytes = await shippedSoFar(spoolRoot, spoolWithinMs);
  await closeAllMinutes(pool, outbox);
  await delivery.settled();
  return unshippedBytes;
};

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
  const { log, file, replace, progress, signal } = options;
  let written: Awaited<ReturnType<typeof writeBackup>> | undefined;
  /** Of visits that were still in a spool: they are not in the backup. */
  let unshippedBytes = 0;

  const write = async (append: (chunk: Buffer) => Promise<void>): Promise<void> => {
    unshippedBytes = await gather(options);
    signal?.throwIfAborted();
    const ranges = await rangesOf(log);
    const head: BackupHead = {
      linklogBackup: backupFormat,
      linklog: linklogVersion(),
      createdAt: new Date().toISOString(),
      topics: ranges,
    };
    const total = recordsIn(head);
    async function* batches(): AsyncGenerator<BackupBatch> {
      let done = 0;
      progress?.(done, total);
      for (const { topic, partitions } of ranges) {
        for (const range of partitions) {
          for await (const { partition, records } of readRange(log, topic, range)) {
            yield { topic, partition, records: records.map(({ key, value }) => ({ key, value })) };
            done += records.length;
            progress?.(done, total);
          }
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
