import { crc32 } from 'node:zlib';

/*
 * A record, big-endian:
 *
 *   u32  length of the body in bytes
 *   u32  CRC-32 of the body
 *   body u64 sequence, u16 length of the key, key (UTF-8), event (UTF-8 JSON)
 *
 * Sequence and key stand beside the event so that shipping never parses JSON.
 */
/** One visit as the spool holds it. */
export interface SpoolRecord {
  /** The event's subject, the short code. */
  readonly key: string;
  /** The event as `writeEvent` gives it. */
  readonly value: string;
  /** The event's number in its spool. */
  readonly sequence: number;
}

const headerBytes = 8;
const fixedBodyBytes = 10;
const uint32 = 2 ** 32;

/** The longest record, header included; a greater length is damage, not a record. */
export const maxRecordBytes = 64 * 1024;

/** A run of records that are all to be written with one `write`. */
export class RecordBuffer {
  #buffer: Buffer;
  #length = 0;

  /** @param initialBytes grows when it has to, and shrinks back to this. */
  constructor(private readonly initialBytes = 256 * 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** In bytes. */
  get length(): number {
    return this.#length;
  }

  /** The records so far; valid until the next call of any method. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Adds a record and returns its size in bytes.
   *
   * @throws RangeError when the record is longer than `maxRecordBytes`; nothing is added then.
   */
  add({ sequence, key, value }: SpoolRecord): number {
    const start = this.#length;
    // A UTF-16 unit is at most three bytes of UTF-8.
    this.#reserve(headerBytes + fixedBodyBytes + 3 * (key.length + value.length));
    const buffer = this.#buffer;
    const body = start + headerBytes;
    buffer.writeUInt32BE(Math.floor(sequence / uint32), body);
    buffer.writeUInt32BE(sequence % uint32, body + 4);
    const keyStart = body + fixedBodyBytes;
    const keyBytes = buffer.write(key, keyStart, 'utf8');
    const end = keyStart + keyBytes + buffer.write(value, keyStart + keyBytes, 'utf8');
    if (end - start > maxRecordBytes) {
      throw new RangeError(`A record of ${end - start} bytes is too long for the spool`);
    }
    buffer.writeUInt16BE(keyBytes, body + 8);
    buffer.writeUInt32BE(end - body, start);
    buffer.writeUInt32BE(crc32(buffer.subarray(body, end)), start + 4);
    this.#length = end;
    return end - start;
  }

  /** Takes back the last `bytes` bytes, a record that `add` has just added. */
  takeBack(bytes: number): void {
    this.#length -= bytes;
  }

  clear(): void {
    this.#length = 0;
    // One burst must not hold its memory for ever.
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

/** Where the parts of a record are in the bytes that it was read from. */
export interface RecordPlace {
  readonly sequence: number;
  readonly keyStart: number;
  /** The event begins here. */
  readonly keyEnd: number;
  /** The event, and the record, end here. */
  readonly end: number;
}

/** The record that begins at an offset, `undefined` where it is cut short or damaged. */
export const recordAt = (bytes: Buffer, offset: number): RecordPlace | undefined => {
  if (offset + headerBytes > bytes.length) return undefined;
  const length = bytes.readUInt32BE(offset);
  const body = offset + headerBytes;
  const end = body + length;
  // The lower bound also turns down blocks of zeros, which a power loss leaves in a file: their
  // length of 0 would go with their CRC of 0.
  if (length < fixedBodyBytes || end - offset > maxRecordBytes || end > bytes.length)
    return undefined;
  if (crc32(bytes.subarray(body, end)) !== bytes.readUInt32BE(offset + 4)) return undefined;
  const keyStart = body + fixedBodyBytes;
  const keyEnd = keyStart + bytes.readUInt16BE(body + 8);
  if (keyEnd > end) return undefined;
  const sequence = bytes.readUInt32BE(body) * uint32 + bytes.readUInt32BE(body + 4);
  return { sequence, keyStart, keyEnd, end };
};

/**
 * Reads records from the start of `bytes` up to the first that is cut short or damaged, `max` at
 * most. Always a prefix of what was written.
 *
 * @returns the records, and how many bytes they take
 */
export const decodeRecords = (
  bytes: Buffer,
  max = Infinity,
): { readonly records: readonly SpoolRecord[]; readonly bytes: number } => {
  const records: SpoolRecord[] = [];
  let offset = 0;
  while (records.length < max) {
    const place = recordAt(bytes, offset);
    if (!place) break;
    const { sequence, keyStart, keyEnd, end } = place;
    records.push({
      sequence,
      key: bytes.toString('utf8', keyStart, keyEnd),
      value: bytes.toString('utf8', keyEnd, end),
    });
    offset = end;
  }
  return { records, bytes: offset };
};
