/*
 * A record, big-endian:
 *
 *   u32  length of the body in bytes
 *   u32  CRC-32 of the body
 *   body, whose first byte is the format:
 *     3  a visit: u48 sequence, u48 time in ms since the epoch, u8 flags, u32 version of the link (0: null),
 *        u16 length of the subject in bytes, subject, then its texts, in the order of `add`, each as u8 length in bytes
 *        (255: null) and UTF-8
 *     2  a visit of an earlier release: the subject is the first text
 *     1  the same without the last text
 *     0  an event of an earlier release: u56 sequence, u16 length of the key, key, JSON
 *
 * Enumerated values are stored as texts, not as indexes of a list, because releases may have different lists.
 */
import type { VisitData } from '../../ops/visitors/visit-data.js';
import { crc32Of } from './crc32.js';

/** A visit before its redirect. It never contains the visitor's address. */
export interface NewVisit {
  readonly subject: string;
  /** The account of the link. */
  readonly account: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The id in the visitor's request, if there is one. */
  readonly requestId: string | undefined;
  readonly data: VisitData;
}

/** The content of a record. */
export type SpoolRecord =
  | { readonly type: 'visit'; readonly visit: NewVisit }
  | { readonly type: 'event'; readonly key: string; readonly value: string };

/** A later release wrote the spool. An edge of that release or a later one can adopt it. */
export class UnknownRecordFormat extends Error {
  readonly code = 'UNKNOWN_RECORD_FORMAT';

  constructor(format: number) {
    super(`a record has format ${format}, which only a later release can read`);
  }
}

const formats = { event: 0, visitWithoutTarget: 1, visitWithShortSubject: 2, visit: 3 } as const;
const flags = { bot: 1, plain: 2 } as const;

const headerBytes = 8;
/** Format, sequence, time, flags, version. */
const fixedVisitBytes = 18;
export const maxTextBytes = 254;
/** A domain of 253 bytes, a slash, and a code of 190 characters. */
export const maxSubjectBytes = 1_024;
const nullText = 255;
/** The number of texts of a visit, besides the subject. */
export const texts = 11;
const maxVisitBytes =
  headerBytes + fixedVisitBytes + 2 + maxSubjectBytes + texts * (1 + maxTextBytes);
/** The shortest body of both formats: format, sequence, and the length of a key. */
const minBodyBytes = 10;

/** The longest record, including its header. A greater length means damage. */
export const maxRecordBytes = 64 * 1024;

/** Records that are written with one `write`. */
export class RecordBuffer {
  #buffer: Buffer;
  #length = 0;
  /** The number of texts of the current record that contain characters that JSON escapes. */
  #unplain = 0;

  /** @param initialBytes the buffer grows on demand, and shrinks back to this size */
  constructor(private readonly initialBytes = 256 * 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** In bytes. */
  get length(): number {
    return this.#length;
  }

  /** All records; valid until the next call of any method. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Adds a visit, and returns the size of the record in bytes.
   *
   * @throws RangeError if a text is too long; then nothing is added
   */
  add(sequence: number, { subject, account, at: time, requestId, data }: NewVisit): number {
    const start = this.#length;
    this.#reserve(maxVisitBytes);
    this.#unplain = 0;
    const body = start + headerBytes;
    let at = body + fixedVisitBytes;
    at = this.#writeSubject(subject, at);
    at = this.#write(account, at);
    at = this.#write(requestId ?? null, at);
    at = this.#write(data.country, at);
    at = this.#write(data.referrer, at);
    at = this.#write(data.browser, at);
    at = this.#write(data.os, at);
    at = this.#write(data.device, at);
    at = this.#write(data.language, at);
    at = this.#write(data.visitor, at);
    at = this.#write(data.trigger, at);
    at = this.#write(data.target, at);
    const buffer = this.#buffer;
    buffer[body] = formats.visit;
    buffer.writeUIntBE(sequence, body + 1, 6);
    buffer.writeUIntBE(time, body + 7, 6);
    buffer[body + 13] = (data.bot ? flags.bot : 0) | (this.#unplain === 0 ? flags.plain : 0);
    buffer.writeUInt32BE(data.version ?? 0, body + 14);
    buffer.writeUInt32BE(at - body, start);
    buffer.writeUInt32BE(crc32Of(buffer, body, at), start + 4);
    this.#length = at;
    return at - start;
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

  /** Returns the end of the subject. */
  #writeSubject(subject: string, at: number): number {
    const end = this.#writeText(subject, at + 2, maxSubjectBytes);
    this.#buffer.writeUInt16BE(end - at - 2, at);
    return end;
  }

  /** Returns the end of the text. */
  #write(text: string | null, at: number): number {
    if (text === null) {
      this.#buffer[at] = nullText;
      return at + 1;
    }
    const end = this.#writeText(text, at + 1, maxTextBytes);
    this.#buffer[at] = end - at - 1;
    return end;
  }

  /** Writes UTF-8. Returns its end. */
  #writeText(text: string, start: number, maxBytes: number): number {
    const buffer = this.#buffer;
    const { length } = text;
    // For texts this short, a loop is several times faster than `Buffer.write`.
    if (length <= maxBytes) {
      let index = 0;
      for (; index < length; index += 1) {
        const unit = text.charCodeAt(index);
        if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) break;
        buffer[start + index] = unit;
      }
      if (index === length) return start + length;
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes)
      throw new RangeError(`a text has ${bytes} bytes; the maximum is ${maxBytes}`);
    this.#unplain += 1;
    return start + buffer.write(text, start);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** The offsets of a complete record in the bytes that it was read from. */
export interface RecordRange {
  /** The sequence of the visit in its spool. */
  readonly sequence: number;
  readonly body: number;
  readonly end: number;
}

/**
 * The record that starts at an offset; `undefined` if it is incomplete or damaged.
 *
 * @throws UnknownRecordFormat
 */
export const recordAt = (bytes: Buffer, offset: number): RecordRange | undefined => {
  if (offset + headerBytes > bytes.length) return undefined;
  const length = bytes.readUInt32BE(offset);
  const body = offset + headerBytes;
  const end = body + length;
  // The lower bound also rejects blocks of zeros, which a power loss leaves in a file: a length of 0 has the CRC 0.
  if (length < minBodyBytes || end - offset > maxRecordBytes || end > bytes.length)
    return undefined;
  if (crc32Of(bytes, body, end) !== bytes.readUInt32BE(offset + 4)) return undefined;
  const format = bytes.readUInt8(body);
  switch (format) {
    case formats.visit:
    case formats.visitWithShortSubject:
    case formats.visitWithoutTarget:
      return { sequence: bytes.readUIntBE(body + 1, 6), body, end };
    case formats.event:
      // The first of its seven bytes is 0 up to 2^48 visits.
      return { sequence: bytes.readUIntBE(body + 2, 6), body, end };
    default:
      throw new UnknownRecordFormat(format);
  }
};

/** The complete records at the start of some bytes, up to the first incomplete or damaged one. */
export function* recordsIn(bytes: Buffer): Generator<RecordRange, void> {
  let offset = 0;
  for (;;) {
    const range = recordAt(bytes, offset);
    if (!range) return;
    yield range;
    offset = range.end;
  }
}

/** Iterates over the subject and the texts of visits, in the bytes that were passed to `recordsIn`. */
export class TextCursor {
  /** The start of the current text. */
  start = 0;
  /** The end of the current text, which is the offset of the next text's length. */
  end = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Moves to the subject of a visit. */
  enter({ body }: RecordRange): void {
    this.end = body + fixedVisitBytes;
    if (this.bytes[body] !== formats.visit) {
      this.next();
      return;
    }
    this.start = this.end + 2;
    this.end = this.start + this.bytes.readUInt16BE(this.end);
  }

  /** Moves to the next text. Returns `false` if it is `null`. */
  next(): boolean {
    const length = this.bytes[this.end] ?? nullText;
    this.start = this.end + 1;
    this.end = length === nullText ? this.start : this.start + length;
    return length !== nullText;
  }
}

/** Whether it is a visit without characters that JSON escapes, as nearly all are. */
export const isPlainVisit = (bytes: Buffer, { body }: RecordRange): boolean =>
  bytes[body] === formats.visit && ((bytes[body + 13] ?? 0) & flags.plain) !== 0;

/** The fields before the texts of a visit, except the sequence. */
export const numbersIn = (
  bytes: Buffer,
  { body }: RecordRange,
): Pick<NewVisit, 'at'> & Pick<VisitData, 'bot' | 'version'> => ({
  at: bytes.readUIntBE(body + 7, 6),
  bot: ((bytes[body + 13] ?? 0) & flags.bot) !== 0,
  version: bytes.readUInt32BE(body + 14) || null,
});

const readVisit = (bytes: Buffer, range: RecordRange): NewVisit => {
  const cursor = new TextCursor(bytes);
  cursor.enter(range);
  const subject = bytes.toString('utf8', cursor.start, cursor.end);
  const text = (): string | null =>
    cursor.next() ? bytes.toString('utf8', cursor.start, cursor.end) : null;
  const { at, bot, version } = numbersIn(bytes, range);
  return {
    subject,
    account: text() ?? '',
    at,
    requestId: text() ?? undefined,
    data: {
      bot,
      country: text(),
      referrer: text(),
      browser: text(),
      os: text(),
      device: text(),
      language: text(),
      visitor: text(),
      trigger: text(),
      version,
      target: bytes[range.body] === formats.visitWithoutTarget ? null : text(),
    } as VisitData,
  };
};

/** Reads a record that `recordsIn` found in these bytes. */
export const readRecord = (bytes: Buffer, range: RecordRange): SpoolRecord => {
  const { body, end } = range;
  if (bytes[body] !== formats.event) return { type: 'visit', visit: readVisit(bytes, range) };
  const keyStart = body + minBodyBytes;
  const keyEnd = keyStart + bytes.readUInt16BE(body + 8);
  const key = bytes.toString('utf8', keyStart, keyEnd);
  return { type: 'event', key, value: bytes.toString('utf8', keyEnd, end) };
};
