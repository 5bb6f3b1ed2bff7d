import { hash as digest } from 'node:crypto';
import type { LogRecord } from '../../../ops/event-log/port.js';

export interface ChainPartition {
  readonly topic: string;
  readonly partition: number;
}

const hashBytes = 32;

/** The stored prefix of the chain's hash after each record. Another record with the same fingerprint takes 2^64 attempts. */
export const fingerprintBytes = 8;

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Prefixes a text with its length, so that concatenated texts are unambiguous. */
const prefixed = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
};

/** The initial hash of a chain covers its log, topic and partition. */
export const genesisOf = (logId: string, { topic, partition }: ChainPartition): Buffer =>
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
 * Returns a function that computes the hash after a record from the hash before it: SHA-256 of that hash, topic,
 * partition, offset, key and value, each of fixed length or prefixed with its length. Hashes are Latin-1 strings of 32
 * characters, because strings are much cheaper to allocate than buffers. The function reuses its buffer.
 */
const linkOf = ({
  topic,
  partition,
}: ChainPartition): ((hash: string, record: LogRecord) => string) => {
  const topicPartition = Buffer.concat([prefixed(topic), uint32(partition)]);
  const headBytes = hashBytes + topicPartition.length;
  let memory = Buffer.alloc(0);

  const reserve = (bytes: number): void => {
    if (memory.length >= bytes) return;
    memory = Buffer.alloc(bytes * 2);
    topicPartition.copy(memory, hashBytes);
  };
  const write = (text: string, at: number): number => {
    const length = memory.write(text, at + 4);
    return memory.writeUInt32BE(length, at) + length;
  };

  return (hash, { offset, key, value }) => {
    // UTF-8 takes at most three bytes for a UTF-16 code unit.
    reserve(headBytes + 16 + 3 * (key.length + value.length));
    memory.write(hash, 'latin1');
    // 64 bits without the allocation of a `bigint`.
    const afterHigh = memory.writeUInt32BE(Math.floor(offset / 2 ** 32), headBytes);
    const afterOffset = memory.writeUInt32BE(offset % 2 ** 32, afterHigh);
    const end = write(value, write(key, afterOffset));
    return digest('sha256', memory.subarray(0, end), 'binary');
  };
};

/** The same for hashes in buffers. */
export const chainOf = (
  topicPartition: ChainPartition,
): ((hash: Buffer, record: LogRecord) => Buffer) => {
  const link = linkOf(topicPartition);
  return (hash, record) => Buffer.from(link(hash.toString('latin1'), record), 'latin1');
};

/** Returns the hash after the records, and the fingerprint after each of them. */
export const extendChain = (
  topicPartition: ChainPartition,
  hash: Buffer,
  records: readonly LogRecord[],
): { readonly hash: Buffer; readonly fingerprints: Buffer } => {
  const link = linkOf(topicPartition);
  const fingerprints = Buffer.alloc(records.length * fingerprintBytes);
  let current = hash.toString('latin1');
  for (const [index, record] of records.entries()) {
    current = link(current, record);
    fingerprints.write(current, index * fingerprintBytes, fingerprintBytes, 'latin1');
  }
  return { hash: Buffer.from(current, 'latin1'), fingerprints };
};
