/** Positions in the feed: see schemas/feed.ts for its events. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import type { TopicPartition } from '../event-log/port.js';

/** The topics of the feed, in the order of its partitions. */
export const feedTopics = [topics.links, topics.accounts, topics.visits] as const;

/**
 * The partitions of the feed. The index of a partition is its number in cursors; for links and accounts also in the
 * history projection (schemas/read-models/history.ts).
 */
export const feedPartitions: readonly TopicPartition[] = feedTopics.flatMap(
  ({ name: topic, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
);

/** The index of the first partition of a topic. */
export const firstIndexOf = (topic: TopicName): number =>
  feedPartitions.findIndex((known) => known.topic === topic);

/** The next offset to read, by index of the partition. */
export type Cursor = readonly number[];

export const startCursor: Cursor = feedPartitions.map(() => 0);

const version = 1;
const identityBytes = 8;
const checksumBytes = 4;

/** Identifies a log in cursors. @param logIds of its topics */
export const logIdentity = (logIds: readonly string[]): string =>
  createHash('sha256')
    .update(logIds.join('\n'))
    .digest()
    .subarray(0, identityBytes)
    .toString('hex');

/** The longest cursor: varints of safe integers have at most 8 bytes. */
const buffer = Buffer.alloc(1 + identityBytes + 8 * feedPartitions.length + checksumBytes);

/** Writes LEB128. Returns the end. */
const writeVarint = (value: number, at: number): number => {
  let end = at;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    buffer[end] = (rest % 0x80) + 0x80;
    end += 1;
  }
  buffer[end] = rest;
  return end + 1;
};

/** All values of the bytes; `null` if the last one is cut or one is not a safe integer. */
const readVarints = (bytes: Uint8Array): readonly number[] | null => {
  const values: number[] = [];
  let value = 0;
  let factor = 1;
  for (const byte of bytes) {
    value += (byte % 0x80) * factor;
    if (!Number.isSafeInteger(value)) return null;
    factor *= 0x80;
    if (byte >= 0x80) continue;
    values.push(value);
    value = 0;
    factor = 1;
  }
  return factor === 1 ? values : null;
};

/** A stream encodes a cursor for each event. @param identity of the log: see `logIdentity` */
export const encodeCursor = (identity: string, cursor: Cursor): string => {
  buffer[0] = version;
  let end = 1 + buffer.write(identity, 1, 'hex');
  for (const offset of cursor) end = writeVarint(offset, end);
  end = buffer.writeUInt32BE(crc32(buffer.subarray(0, end)), end);
  return buffer.toString('base64url', 0, end);
};

/** The parts of a text that `encodeCursor` returned; `null` for other texts. */
export const decodeCursor = (
  text: string,
): { readonly identity: string; readonly cursor: Cursor } | null => {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text || bytes.length < checksumBytes) return null;
  const content = bytes.subarray(0, -checksumBytes);
  if (content[0] !== version || crc32(content) !== bytes.readUInt32BE(content.length)) return null;
  const identity = content.subarray(1, 1 + identityBytes).toString('hex');
  const cursor = readVarints(content.subarray(1 + identityBytes));
  return cursor?.length === feedPartitions.length ? { identity, cursor } : null;
};
