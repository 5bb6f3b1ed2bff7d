/**
 * A partition's share of a request, as Kafka stores it (record batch, magic 2), written into one
 * buffer. kafkajs makes some ten buffers for each record, and most of a visit's cost is theirs.
 */
import { createRequire } from 'node:module';
import type { OutgoingRecord } from './records.js';

const load = createRequire(import.meta.url);
const crc32c = load('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (
  bytes: Uint8Array,
) => number;

const headBytes = 61;
/** The checksum covers the bytes from here on. */
const checkedFrom = 21;
const magic = 2;
const none = -1;
/** Attributes, and the time since the batch's time. */
const fixedBytes = 2;

/** Bytes of a number that is not negative, in zigzag and 7 bits each. */
const varintBytes = (value: number): number => {
  if (value < 2 ** 6) return 1;
  if (value < 2 ** 13) return 2;
  if (value < 2 ** 20) return 3;
  return value < 2 ** 27 ? 4 : 5;
};

const writeVarint = (buffer: Buffer, value: number, at: number): number => {
  let rest = value * 2;
  let offset = at;
  while (rest >= 0x80) {
    buffer[offset] = (rest & 0x7f) | 0x80;
    rest = Math.floor(rest / 0x80);
    offset += 1;
  }
  buffer[offset] = rest;
  return offset + 1;
};

const sized = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  const size = Buffer.alloc(varintBytes(bytes.length));
  writeVarint(size, bytes.length, 0);
  return Buffer.concat([size, bytes]);
};

/** Each value is one CloudEvent as JSON, and has one header that says so. */
const headers = Buffer.concat([
  Buffer.from([2]),
  sized('content-type'),
  sized('application/cloudevents+json'),
]);

const bodyBytes = (offset: number, { key, value }: OutgoingRecord): number =>
  fixedBytes +
  varintBytes(offset) +
  varintBytes(key.length) +
  key.length +
  varintBytes(value.length) +
  value.length +
  headers.length;

/** The records, of one partition and at least one, in their order. */
export const recordBatch = (records: readonly OutgoingRecord[], now: number): Buffer => {
  let size = headBytes;
  records.forEach((record, offset) => {
    const bytes = bodyBytes(offset, record);
    size += varintBytes(bytes) + bytes;
  });
  const batch = Buffer.allocUnsafeSlow(size);
  const time = BigInt(now);
  // The broker puts in the first offset.
  batch.writeBigInt64BE(0n, 0);
  batch.writeInt32BE(size - 12, 8);
  batch.writeInt32BE(none, 12);
  batch.writeInt8(magic, 16);
  batch.writeInt16BE(0, checkedFrom);
  batch.writeInt32BE(records.length - 1, 23);
  batch.writeBigInt64BE(time, 27);
  batch.writeBigInt64BE(time, 35);
  batch.writeBigInt64BE(BigInt(none), 43);
  batch.writeInt16BE(none, 51);
  batch.writeInt32BE(none, 53);
  batch.writeInt32BE(records.length, 57);
  let at = headBytes;
  records.forEach((record, offset) => {
    const { key, value } = record;
    at = writeVarint(batch, bodyBytes(offset, record), at);
    batch.fill(0, at, at + fixedBytes);
    at = writeVarint(batch, offset, at + fixedBytes);
    at = writeVarint(batch, key.length, at);
    at += key.copy(batch, at);
    at = writeVarint(batch, value.length, at);
    at += value.copy(batch, at);
    at += headers.copy(batch, at);
  });
  batch.writeUInt32BE(crc32c(batch.subarray(checkedFrom)), 17);
  return batch;
};
