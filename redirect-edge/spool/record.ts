/*
 * A record has the visits of one event-loop tick in one partition of the log, big-endian:
 *
 *   u32  length of the body in bytes
 *   u32  CRC-32 of the body
 *   body: u8 format, u8 partition, u16 number of visits, and a line for each: its event as JSON, and a line feed
 */
import { crc32 } from 'node:zlib';

/** Another version of Linklog wrote the spool. An edge of that version can adopt it. */
export class UnknownRecordFormat extends Error {
  readonly code = 'UNKNOWN_RECORD_FORMAT';

  constructor(found: number) {
    super(`a record has format ${found}; this version of Linklog reads format ${format}`);
  }
}

/** Formats 0 to 3 had a binary record for each visit. */
const format = 4;

const headerBytes = 8;
/** Format, partition and number of visits. */
const prefixBytes = 4;

/** The longest record, including its header. A greater length means damage. */
export const maxRecordBytes = 64 * 1024;
/** A record is closed when its text has this length. A UTF-16 unit has at most three bytes in UTF-8. */
const closedLength = 16_000;
const maxEventLength = 5_000;

interface OpenRecord {
  text: string;
  visits: number;
}

const empty: OpenRecord = { text: '', visits: 0 };

/** Records that are written with one `write`. */
export class RecordBuffer {
  #buffer: Buffer;
  /** The bytes of closed records. */
  #closed = 0;
  /** The records by partition. They are reused: new objects for each tick would take a fifth of the time. */
  readonly #open: OpenRecord[] = [];
  #length = 0;

  /** @param initialBytes the buffer grows on demand, and shrinks back to this size */
  constructor(private readonly initialBytes = 256 * 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** The size of all records with one more event in bytes, at most, if their text is ASCII. */
  lengthWith(event: string): number {
    return this.#length + headerBytes + prefixBytes + event.length + 1;
  }

  /** @param event JSON without a line feed @throws RangeError if the event is too long; then it is not added */
  add(partition: number, event: string): void {
    if (event.length > maxEventLength) {
      throw new RangeError(
        `an event has ${event.length} characters; the limit is ${maxEventLength}`,
      );
    }
    const record = (this.#open[partition] ??= { ...empty });
    if (record.visits === 0) this.#length += headerBytes + prefixBytes;
    record.text += `${event}\n`;
    record.visits += 1;
    this.#length += event.length + 1;
    if (record.text.length >= closedLength) this.#close(partition, record);
  }

  /** Returns the bytes of all records, which are valid until the next call of any method. */
  bytes(): Buffer {
    this.#open.forEach((record, partition) => {
      if (record.visits > 0) this.#close(partition, record);
    });
    return this.#buffer.subarray(0, this.#closed);
  }

  clear(): void {
    this.#closed = 0;
    this.#length = 0;
    this.#open.forEach((record) => Object.assign(record, empty));
    // A burst must not keep its memory.
    if (this.#buffer.length > 16 * this.initialBytes) {
      this.#buffer = Buffer.allocUnsafeSlow(this.initialBytes);
    }
  }

  #close(partition: number, record: OpenRecord): void {
    const { text, visits } = record;
    Object.assign(record, empty);
    const start = this.#closed;
    this.#reserve(headerBytes + prefixBytes + 3 * text.length);
    const buffer = this.#buffer;
    const body = start + headerBytes;
    const lines = body + prefixBytes;
    const end = lines + buffer.write(text, lines);
    buffer[body] = format;
    buffer[body + 1] = partition;
    buffer.writeUInt16BE(visits, body + 2);
    buffer.writeUInt32BE(end - body, start);
    buffer.writeUInt32BE(crc32(buffer.subarray(body, end)), start + 4);
    this.#closed = end;
  }

  #reserve(bytes: number): void {
    const needed = this.#closed + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#closed);
    this.#buffer = grown;
  }
}

/** A complete record in the bytes that it was read from. */
interface SpoolRecord {
  readonly partition: number;
  readonly visits: number;
  /** A view of the events, each with a line feed. */
  readonly lines: Buffer;
  /** The offset behind the record. */
  readonly end: number;
}

/** The record that starts at an offset; `undefined` if it is incomplete or damaged. @throws UnknownRecordFormat */
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
  return { partition, visits: body.readUInt16BE(2), lines: body.subarray(prefixBytes), end };
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
