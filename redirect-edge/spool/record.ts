/*
 * A record, big-endian:
 *
 *   u32  length of the body in bytes
 *   u32  CRC-32 of the body
 *   body: u8 format, u8 partition of the log, and a line: the event of the visit as JSON, and a line feed
 */
import { crc32 } from 'node:zlib';

/** Another version of Linklog wrote the spool. An edge of that version can adopt it. */
export class UnknownRecordFormat extends Error {
  readonly code = 'UNKNOWN_RECORD_FORMAT';

  constructor(found: number) {
    super(`a record has format ${found}; this version of Linklog reads format ${format}`);
  }
}

/** Formats 0 to 3 were binary. */
const format = 4;

const headerBytes = 8;
/** Format and partition. */
const prefixBytes = 2;

/** The longest record, including its header. A greater length means damage. */
export const maxRecordBytes = 64 * 1024;

/** Records that are written with one `write`. */
export class RecordBuffer {
  #buffer: Buffer;
  #length = 0;

  /** @param initialBytes the buffer grows on demand, and shrinks back to this size */
  constructor(private readonly initialBytes = 256 * 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** The size of all records in bytes. */
  get length(): number {
    return this.#length;
  }

  /** All records; valid until the next call of any method. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Adds an event, and returns the size of the record in bytes.
   *
   * @param event JSON without a line feed
   * @throws RangeError if the event is too long; then nothing is added
   */
  add(partition: number, event: string): number {
    const start = this.#length;
    // A UTF-16 unit has at most three bytes in UTF-8.
    this.#reserve(headerBytes + prefixBytes + 3 * event.length + 1);
    const buffer = this.#buffer;
    const body = start + headerBytes;
    const line = body + prefixBytes;
    const end = line + buffer.write(`${event}\n`, line);
    const size = end - start;
    if (size > maxRecordBytes)
      throw new RangeError(`a record has ${size} bytes; the maximum is ${maxRecordBytes}`);
    buffer[body] = format;
    buffer[body + 1] = partition;
    buffer.writeUInt32BE(end - body, start);
    buffer.writeUInt32BE(crc32(buffer.subarray(body, end)), start + 4);
    this.#length = end;
    return size;
  }

  /** Removes the last record. @param bytes the size that `add` returned */
  removeLast(bytes: number): void {
    this.#length -= bytes;
  }

  clear(): void {
    this.#length = 0;
    // A burst must not keep its memory.
    if (this.#buffer.length > 16 * this.initialBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(this.initialBytes);
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** A complete record in the bytes that it was read from. */
interface SpoolRecord {
  readonly partition: number;
  /** A view of the event, with its line feed. */
  readonly line: Buffer;
  /** The offset behind the record. */
  readonly end: number;
}

/**
 * The record that starts at an offset; `undefined` if it is incomplete or damaged.
 *
 * @throws UnknownRecordFormat
 */
export const recordAt = (bytes: Buffer, offset: number): SpoolRecord | undefined => {
  if (offset + headerBytes > bytes.length) return undefined;
  const length = bytes.readUInt32BE(offset);
  const start = offset + headerBytes;
  const end = start + length;
  // The lower bound also rejects blocks of zeros, which a power loss leaves in a file: a length of 0 has the CRC 0.
  if (length <= prefixBytes || end - offset > maxRecordBytes || end > bytes.length)
    return undefined;
  const body = bytes.subarray(start, end);
  if (crc32(body) !== bytes.readUInt32BE(offset + 4)) return undefined;
  const [found = 0, partition = 0] = body;
  if (found !== format) throw new UnknownRecordFormat(found);
  return { partition, line: body.subarray(prefixBytes), end };
};

/** The complete records at the start of some bytes, up to the first incomplete or damaged one. */
export function* recordsIn(bytes: Buffer): Generator<SpoolRecord, void> {
  let offset = 0;
  for (;;) {
    const record = recordAt(bytes, offset);
    if (!record) return;
    yield record;
    offset = record.end;
  }
}
