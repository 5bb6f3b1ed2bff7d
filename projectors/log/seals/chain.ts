import { hash as digest } from 'node:crypto';
import type { LogRecord } from '../../../ops/event-log/port.js';

/** A partition, which has a chain of its own. */
export interface ChainPlace {
  readonly topic: string;
  readonly partition: number;
}

const hashBytes = 32;

/**
 * Bytes that are kept of the chain's hash after each record: to find another record with the same
 * fingerprint takes 2^64 tries.
 */
export const fingerprintBytes = 8;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A text with its length before it: two texts side by side cannot be read as two others. */
const prefixed = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
};

/** The hash that a chain begins with. It names the log, topic and partition of the chain. */
export const genesisOf = (logId: string, { topic, partition }: ChainPlace): Buffer =>
  digest(
    'sha256',
    Buffer.concat([
      prefixed('linklog chain v1'),
      prefixed(logId),
      prefixed(topic),
      uint32(partition),
    ]),
    'buffer',
  );

/**
 * Returns a function that adds a record to the partition's chain: from the hash before the record to
 * the hash after it, each as 32 characters of Latin-1, one for each byte: strings are much cheaper to make
 * than buffers. That is SHA-256 over the hash before, topic, partition, offset, key and value, each of fixed
 * length or with its length before it. The function reuses its buffer.
 */
const linkOf = ({
  topic,
  partition,
}: ChainPlace): ((hash: string, record: LogRecord) => string) => {
  const place = Buffer.concat([prefixed(topic), uint32(partition)]);
  const headBytes = hashBytes + place.length;
  let memory = Buffer.alloc(0);

  const reserve = (bytes: number): void => {
    if (memory.length >= bytes) return;
    memory = Buffer.alloc(bytes * 2);
    place.copy(memory, hashBytes);
  };
  const write = (text: string, at: number): number => {
    const length = memory.write(text, at + 4);
    return memory.writeUInt32BE(length, at) + length;
  };

  return (hash, { offset, key, value }) => {
    // UTF-8 has at most three bytes for a unit of a JavaScript string.
    reserve(headBytes + 16 + 3 * (key.length + value.length));
    memory.write(hash, 'latin1');
    // 64 bits, without a `bigint` for each record.
    const afterHigh = memory.writeUInt32BE(Math.floor(offset / 2 ** 32), headBytes);
    const afterOffset = memory.writeUInt32BE(offset % 2 ** 32, afterHigh);
    const end = write(value, write(key, afterOffset));
    return digest('sha256', memory.subarray(0, end), 'binary');
  };
};

/** Returns `linkOf`'s function for hashes that are buffers. */
export const chainOf = (place: ChainPlace): ((hash: Buffer, record: LogRecord) => Buffer) => {
  const link = linkOf(place);
  return (hash, record) => Buffer.from(link(hash.toString('latin1'), record), 'latin1');
};

/** The chain's hash after the records, and the fingerprints after each of them. */
export const extendChain = (
  place: ChainPlace,
  hash: Buffer,
  records: readonly LogRecord[],
): { readonly hash: Buffer; readonly fingerprints: Buffer } => {
  const link = linkOf(place);
  const fingerprints = Buffer.alloc(records.length * fingerprintBytes);
  let current = hash.toString('latin1');
  for (const [index, record] of records.entries()) {
    current = link(current, record);
    fingerprints.write(current, index * fingerprintBytes, fingerprintBytes, 'latin1');
  }
  return { hash: Buffer.from(current, 'latin1'), fingerprints };
};
