import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { jsonText } from '../../platform/json.js';

/**
 * A backup is one file:
 *
 *     head      one line of JSON, see `backupHead`; `head -1` shows it
 *     body      gzip of lines of JSON: batches of records, then the end, see `bodyLine`
 *     digest    SHA-256 of every byte before it, 32 bytes
 *
 * Records stand in the order of their partition, with the exact text that the log has. Topics come
 * in an order in which nothing comes before what it refers to: keys, then links, then visits. The
 * digest finds what was cut short or altered, in head and body; it is no proof against a forger.
 *
 * A change that older versions cannot read raises `backupFormat`. The first field of the head is
 * the format in every version of it.
 */
export const backupFormat = 1;

const digestBytes = 32;

/** All that a reader of any version can count on. */
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
        /** The offsets of each partition: from `first` up to, not including, `next`. */
        partitions: z.array(z.object({ partition: z.int(), first: z.int(), next: z.int() })),
      }),
    ),
  }),
);
export type BackupHead = z.output<typeof backupHead>;

/** How many records a backup has, by its head. */
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

/** A file that cannot be restored by this version, and why, in one line. */
export class BadBackup extends Error {
  readonly code = 'BAD_BACKUP';
}

const newline = 0x0a;
/** A head names five topics and their partitions. */
const headBytes = 65_536;
/** A line is a batch, of a thousand records as a rule; more than this is none of ours. */
const lineBytes = 256 * 1_024 * 1_024;

const damaged = (file: string, cause?: unknown): BadBackup =>
  new BadBackup(`${file} is damaged: it was cut short or altered since it was written`, { cause });

const unreadable = (file: string, cause: unknown): BadBackup =>
  new BadBackup(`${file} cannot be read: ${(cause as Error).message}`, { cause });

/** Whether the system failed to read: the disk is at fault, not what is on it. */
const isOfSystem = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && typeof error.syscall === 'string';

const readHead = async (
  file: string,
  handle: FileHandle,
): Promise<{ readonly head: BackupHead; readonly bytes: Buffer }> => {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  if (bytesRead === 0) throw new BadBackup(`${file} is empty`);
  const end = buffer.subarray(0, bytesRead).indexOf(newline);
  const line = end < 0 ? undefined : buffer.toString('utf8', 0, end);
  const any = anyBackupHead.safeParse(line);
  if (!any.success) throw new BadBackup(`${file} is no backup of Linklog`);
  const format = any.data.linklogBackup;
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

/** The lines of a stream of bytes. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      pieces.push(chunk.subarray(from, at));
      yield Buffer.concat(pieces).toString('utf8');
      pieces = [];
      length = 0;
      from = at + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > lineBytes) throw new Error('The line does not end');
  }
  if (pieces.length > 0) throw new Error('The last line does not end');
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
    throw isOfSystem(error) ? unreadable(file, error) : error;
  }
};

const readFrom = async (file: string, handle: FileHandle) => {
  const stat = await handle.stat();
  if (!stat.isFile()) throw new BadBackup(`${file} is no file`);
  const { head, bytes: headLine } = await readHead(file, handle);
  const bodyEnd = stat.size - digestBytes;
  if (bodyEnd <= headLine.length) throw damaged(file);
  const total = recordsIn(head);

  /**
   * Hands out every batch, in order, each when the one before was taken; then sees that the file is
   * whole and as it was written.
   *
   * @throws BadBackup, at the end at the latest; what `take` threw
   */
  const read = async (
    take: (batch: BackupBatch) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> => {
    const hash = createHash('sha256').update(headLine);
    const seen = { records: 0, ended: false };
    /** What the taker threw, if anything, and thus no fault of the file. */
    const taking: { error?: unknown } = {};
    async function* hashed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    }
    const consume = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      for await (const text of linesOf(chunks)) {
        const line = bodyLine.parse(text);
        if (seen.ended) throw new Error('Something comes after the end');
        if ('end' in line) {
          seen.ended = line.end.records === seen.records && seen.records === total;
          if (!seen.ended) throw new Error(`${seen.records} of ${total} records`);
          continue;
        }
        seen.records += line.records.length;
        try {
          await take(line);
        } catch (error) {
          taking.error = error;
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
      if ('error' in taking) throw taking.error;
      throw isOfSystem(error) ? unreadable(file, error) : damaged(file, error);
    }
    const { buffer } = await handle.read(Buffer.alloc(digestBytes), 0, digestBytes, bodyEnd);
    if (!seen.ended || !hash.digest().equals(buffer)) throw damaged(file);
  };

  return { head, total, read, close: (): Promise<void> => handle.close() };
};

export type BackupFile = Awaited<ReturnType<typeof readFrom>>;
