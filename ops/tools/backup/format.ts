import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { jsonText } from '../../platform/parse.js';

/**
 * A backup is one file:
 *
 *     head      one line of JSON, see `backupHead`; `head -1` shows it
 *     body      gzip of lines of JSON: batches of records, then the end, see `bodyLine`
 *     digest    SHA-256 of every byte before it, 32 bytes
 *
 * Records are in the order of their partition, with the exact text of the log. Topics are ordered so that records refer
 * only to records before them: keys, then links, then visits. The digest detects truncation and accidental changes, but
 * not forgery.
 *
 * A change that older versions cannot read increments `backupFormat`. The first field of the head is the format in all
 * versions.
 */
export const backupFormat = 1;

const digestBytes = 32;

/** The part of the head that all versions have. */
const anyBackupHead = jsonText.pipe(z.looseObject({ linklogBackup: z.int().min(1) }));

const backupHead = jsonText.pipe(
  z.object({
    linklogBackup: z.literal(backupFormat),
    /** The version of Linklog that wrote it. */
    linklog: z.string(),
    createdAt: z.iso.datetime(),
    topics: z.array(
      z.object({
        topic: z.string(),
        /** The offsets of each partition; `next` is exclusive. */
        partitions: z.array(z.object({ partition: z.int(), first: z.int(), next: z.int() })),
      }),
    ),
  }),
);
export type BackupHead = z.output<typeof backupHead>;

export const recordsIn = ({ topics }: BackupHead): number =>
  topics
    .flatMap(({ partitions }) => partitions)
    .reduce((sum, { first, next }) => sum + next - first, 0);

const batch = z.object({
  topic: z.string(),
  partition: z.int(),
  records: z.array(z.object({ key: z.string(), value: z.string() })),
});
export type BackupBatch = z.output<typeof batch>;

const end = z.object({ records: z.int() });

const bodyLine = jsonText.pipe(z.union([batch, z.object({ end })]));

/** This version cannot restore the file. */
export class BadBackup extends Error {
  readonly code = 'BAD_BACKUP';
}

const newline = 0x0a;
/** More than enough for five topics with their partitions. */
const maxHeadBytes = 65_536;
/** More than enough for a batch, which has about a thousand records. */
const maxLineBytes = 256 * 1_024 * 1_024;

const damaged = (file: string, cause?: unknown): BadBackup =>
  new BadBackup(`${file} is damaged: it was truncated or altered`, { cause });

const unreadable = (file: string, cause: unknown): BadBackup =>
  new BadBackup(`${file} cannot be read: ${(cause as Error).message}`, { cause });

/** Whether the error is an I/O error rather than invalid content. */
const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && typeof error.syscall === 'string';

const readHead = async (
  file: string,
  handle: FileHandle,
): Promise<{ readonly head: BackupHead; readonly bytes: Buffer }> => {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(maxHeadBytes), 0, maxHeadBytes, 0);
  if (bytesRead === 0) throw new BadBackup(`${file} is empty`);
  const end = buffer.subarray(0, bytesRead).indexOf(newline);
  const line = end < 0 ? undefined : buffer.toString('utf8', 0, end);
  const anyHead = anyBackupHead.safeParse(line);
  if (!anyHead.success) throw new BadBackup(`${file} is not a backup of Linklog`);
  const format = anyHead.data.linklogBackup;
  if (format > backupFormat) {
    throw new BadBackup(
      `${file} was written by a later version of Linklog (format ${format}, this version reads ` +
        `${backupFormat}): restore it with that version or a later one`,
    );
  }
  const head = backupHead.safeParse(line);
  if (!head.success) throw damaged(file, head.error);
  return { head: head.data, bytes: buffer.subarray(0, end + 1) };
};

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      parts.push(chunk.subarray(from, end));
      yield Buffer.concat(parts).toString('utf8');
      parts = [];
      length = 0;
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > maxLineBytes) throw new Error(`a line has more than ${maxLineBytes} bytes`);
  }
  if (parts.length > 0) throw new Error('the last line has no line end');
}

/** Opens a backup and reads its head. @throws BadBackup */
export const openBackup = async (file: string): Promise<BackupFile> => {
  let handle: FileHandle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    throw unreadable(file, error);
  }
  try {
    return await readFrom(file, handle);
  } catch (error) {
    await handle.close();
    throw isSystemError(error) ? unreadable(file, error) : error;
  }
};

const readFrom = async (file: string, handle: FileHandle) => {
  const stat = await handle.stat();
  if (!stat.isFile()) throw new BadBackup(`${file} is not a file`);
  const { head, bytes: headLine } = await readHead(file, handle);
  const bodyEnd = stat.size - digestBytes;
  if (bodyEnd <= headLine.length) throw damaged(file);
  const total = recordsIn(head);

  /**
   * Passes all batches to `onBatch` in order, then checks that the file is complete and unaltered.
   *
   * @throws BadBackup, at the end at the latest; the error of `onBatch`
   */
  const read = async (
    onBatch: (batch: BackupBatch) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> => {
    const hash = createHash('sha256').update(headLine);
    const seen = { records: 0, ended: false };
    /** An error of `onBatch` does not mean that the file is damaged. */
    const failure: { error?: unknown } = {};
    async function* hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    }
    const consume = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      for await (const text of linesOf(chunks)) {
        const line = bodyLine.parse(text);
        if (seen.ended) throw new Error('a line follows the end');
        if ('end' in line) {
          seen.ended = line.end.records === seen.records && seen.records === total;
          if (!seen.ended) throw new Error(`${seen.records} of ${total} records`);
          continue;
        }
        seen.records += line.records.length;
        try {
          await onBatch(line);
        } catch (error) {
          failure.error = error;
          throw error;
        }
      }
    };
    try {
      await pipeline(
        handle.createReadStream({ start: headLine.length, end: bodyEnd - 1, autoClose: false }),
        hashed,
        createGunzip(),
        consume,
        { signal },
      );
    } catch (error) {
      signal?.throwIfAborted();
      if ('error' in failure) throw failure.error;
      throw isSystemError(error) ? unreadable(file, error) : damaged(file, error);
    }
    const { buffer } = await handle.read(Buffer.alloc(digestBytes), 0, digestBytes, bodyEnd);
    if (!seen.ended || !hash.digest().equals(buffer)) throw damaged(file);
  };

  return { head, total, read, close: (): Promise<void> => handle.close() };
};

export type BackupFile = Awaited<ReturnType<typeof readFrom>>;
