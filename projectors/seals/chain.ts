import { hash as digest } from 'node:crypto';
import type { LogRecord } from '../../ops/platform/event-log/port.js';

/** A partition, which has a chain of its own. */
export interface ChainPlace {
  readonly topic: string;
  readonly partition: number;
}

const hashBytes = 32;

/**
 * What is kept of the chain's hash after each record: enough that nobody finds another record with
 * the same (2^64 tries), and a quarter of the hash to store.
 */
export const fingerprintBytes = 8;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** A text and its length before it, so that no two texts side by side read as two others. */
const prefixed = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
};

/** The hash that a chain begins with; it names the log, so that no chain can pass for another's. */
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

/** The chain's hash after a record, from its hash before. */
export type Link = (hash: Buffer, record: LogRecord) => Buffer;

/**
 * How the chain of a partition grows: SHA-256 over its hash so far, topic, partition, offset, key
 * and value, each of fixed length or with its length before it. One function for many records, since
 * it uses its memory again.
 */
export const chainOf = ({ topic, partition }: ChainPlace): Link => {
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
    hash.copy(memory);
    const afterOffset = memory.writeBigUInt64BE(BigInt(offset), headBytes);
    const end = write(value, write(key, afterOffset));
    return digest('sha256', memory.subarray(0, end), 'buffer');
  };
};

/** The chain's hash after the records, and the fingerprints after each of them. */
export const extendChain = (
  place: ChainPlace,
  hash: Buffer,
  records: readonly LogRecord[],
): { readonly hash: Buffer; readonly fingerprints: Buffer } => {
  const link = chainOf(place);
  const fingerprints = Buffer.alloc(records.length * fingerprintBytes);
  let current = hash;
  for (const [index, record] of records.entries()) {
    current = link(current, record);
    current.copy(fingerprints, index * fingerprintBytes, 0, fingerprintBytes);
  }
  return { hash: current, fingerprints };
};
