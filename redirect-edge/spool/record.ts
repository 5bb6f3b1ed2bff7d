/*
 * A record, big-endian:
 *
 *   u32  length of the body in bytes
 *   u32  CRC-32 of the body
 *   body, which begins with a byte for its format:
 *     1  a visit: u48 sequence, u48 time in ms since the epoch, u8 flags, u32 version of the link (0: null),
 *        then its texts, in the order of `add`: of each u8 length in bytes (255: null), UTF-8
 *     0  an event that the release before has made: u56 sequence, u16 length of the key, key, JSON
 *
 * The words of a visit stand there as texts, not as numbers of a list: another release may have another list.
 */
import type { VisitFacts } from '../visitors/visit-facts.js';
import { crc32Of } from './crc32.js';

/** A visit that is about to be redirected. The visitor's address never gets here. */
export interface NewVisit {
  readonly code: string;

  /** The link's. */
  readonly account: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Where the visitor's request names one. */
  readonly requestId: string | undefined;
  readonly facts: VisitFacts;
}

/** What the spool holds of one visit. */
export type SpoolRecord =
  | { readonly type: 'visit'; readonly visit: NewVisit }
  | { readonly type: 'event'; readonly key: string; readonly value: string };

/** A later release wrote the spool; one of its edges, or of a release after it, can adopt it. */
export class UnknownRecordFormat extends Error {
  readonly code = 'UNKNOWN_RECORD_FORMAT';

  constructor(format: number) {
    super(`The spool was written by a later release: it has records of format ${format}`);
  }
}

const formats = { event: 0, visit: 1 } as const;
const flags = { bot: 1, plain: 2 } as const;

const headerBytes = 8;
/** Format, sequence, time, flags, version. */
const fixedVisitBytes = 18;
export const maxTextBytes = 254;
const nullText = 255;
/** Of a visit. */
export const texts = 11;
const maxVisitBytes = headerBytes + fixedVisitBytes + texts * (1 + maxTextBytes);
/** The least that either format has: sequence and format, and the length of a key. */
const minBodyBytes = 10;

/** The longest record, header included; a greater length is damage, not a record. */
export const maxRecordBytes = 64 * 1024;

/** A run of records that are all to be written with one `write`. */
export class RecordBuffer {
  #buffer: Buffer;
  #length = 0;
  /** Of the record that is being added, the texts in which JSON has something to escape. */
  #unplain = 0;

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
   * Adds a visit under its number in the spool, and returns the record's size in bytes.
   *
   * @throws RangeError when one of its texts has more than 254 bytes; nothing is added then.
   */
  add(sequence: number, { code, account, at: time, requestId, facts }: NewVisit): number {
    const start = this.#length;
    this.#reserve(maxVisitBytes);
    this.#unplain = 0;
    const body = start + headerBytes;
    let at = body + fixedVisitBytes;
    at = this.#write(code, at);
    at = this.#write(account, at);
    at = this.#write(requestId ?? null, at);
    at = this.#write(facts.country, at);
    at = this.#write(facts.referrer, at);
    at = this.#write(facts.browser, at);
    at = this.#write(facts.os, at);
    at = this.#write(facts.device, at);
    at = this.#write(facts.language, at);
    at = this.#write(facts.visitor, at);
    at = this.#write(facts.trigger, at);
    const buffer = this.#buffer;
    buffer[body] = formats.visit;
    buffer.writeUIntBE(sequence, body + 1, 6);
    buffer.writeUIntBE(time, body + 7, 6);
    buffer[body + 13] = (facts.bot ? flags.bot : 0) | (this.#unplain === 0 ? flags.plain : 0);
    buffer.writeUInt32BE(facts.version ?? 0, body + 14);
    buffer.writeUInt32BE(at - body, start);
    buffer.writeUInt32BE(crc32Of(buffer, body, at), start + 4);
    this.#length = at;
    return at - start;
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

  /** Returns where the text ends. */
  #write(text: string | null, at: number): number {
    const buffer = this.#buffer;
    if (text === null) {
      buffer[at] = nullText;
      return at + 1;
    }
    const start = at + 1;
    const { length } = text;
    // For texts this short, a loop is several times as fast as a call of `Buffer.write`.
    if (length <= maxTextBytes) {
      let index = 0;
      for (; index < length; index += 1) {
        const unit = text.charCodeAt(index);
        if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) break;
        buffer[start + index] = unit;
      }
      if (index === length) {
        buffer[at] = length;
        return start + length;
      }
    }
    const bytes = Buffer.byteLength(text);
    if (bytes > maxTextBytes) throw new RangeError(`A text of ${bytes} bytes is too long`);
    this.#unplain += 1;
    buffer[at] = bytes;
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

/** A whole record in the bytes that it was read from. */
export interface RecordPlace {
  /** The visit's number in its spool. */
  readonly sequence: number;
  readonly body: number;
  readonly end: number;
}

/**
 * The record that begins at an offset, `undefined` where it is cut short or damaged.
 *
 * @throws UnknownRecordFormat
 */
export const recordAt = (bytes: Buffer, offset: number): RecordPlace | undefined => {
  if (offset + headerBytes > bytes.length) return undefined;
  const length = bytes.readUInt32BE(offset);
  const body = offset + headerBytes;
  const end = body + length;
  // The lower bound also turns down blocks of zeros, which a power loss leaves in a file: their
  // length of 0 would go with their CRC of 0.
  if (length < minBodyBytes || end - offset > maxRecordBytes || end > bytes.length)
    return undefined;
  if (crc32Of(bytes, body, end) !== bytes.readUInt32BE(offset + 4)) return undefined;
  const format = bytes.readUInt8(body);
  switch (format) {
    case formats.visit:
      return { sequence: bytes.readUIntBE(body + 1, 6), body, end };
    case formats.event:
      // Of its seven bytes, the first is 0 up to 2^48 visits.
      return { sequence: bytes.readUIntBE(body + 2, 6), body, end };
    default:
      throw new UnknownRecordFormat(format);
  }
};

/** The whole records at the beginning of some bytes, up to the first that is cut short or damaged. */
export function* recordsIn(bytes: Buffer): Generator<RecordPlace, void> {
  let offset = 0;
  for (;;) {
    const place = recordAt(bytes, offset);
    if (!place) return;
    yield place;
    offset = place.end;
  }
}

/** Walks the texts of visits in the bytes that `recordsIn` has found them in. */
export class TextCursor {
  /** Where the text begins. */
  start = 0;
  /** Where it ends, and the length of the next one stands. */
  end = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Goes before the first text of a visit. */
  enter({ body }: RecordPlace): void {
    this.end = body + fixedVisitBytes;
  }

  /** Goes to the next text; whether there is one: `null` has none. */
  next(): boolean {
    const length = this.bytes[this.end] ?? nullText;
    this.start = this.end + 1;
    this.end = length === nullText ? this.start : this.start + length;
    return length !== nullText;
  }
}

/** Whether it is a visit in whose texts JSON has nothing to escape: nearly every one. */
export const isPlainVisit = (bytes: Buffer, { body }: RecordPlace): boolean =>
  bytes[body] === formats.visit && ((bytes[body + 13] ?? 0) & flags.plain) !== 0;

/** What stands before the texts of a visit, besides its sequence. */
export const numbersIn = (
  bytes: Buffer,
  { body }: RecordPlace,
): Pick<NewVisit, 'at'> & Pick<VisitFacts, 'bot' | 'version'> => ({
  at: bytes.readUIntBE(body + 7, 6),
  bot: ((bytes[body + 13] ?? 0) & flags.bot) !== 0,
  version: bytes.readUInt32BE(body + 14) || null,
});

const readVisit = (bytes: Buffer, place: RecordPlace): NewVisit => {
  const cursor = new TextCursor(bytes);
  cursor.enter(place);
  const text = (): string | null =>
    cursor.next() ? bytes.toString('utf8', cursor.start, cursor.end) : null;
  const { at, bot, version } = numbersIn(bytes, place);
  return {
    code: text() ?? '',
    account: text() ?? '',
    at,
    requestId: text() ?? undefined,
    facts: {
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
    } as VisitFacts,
  };
};

/** Reads what stands in a record that `recordsIn` has found in these bytes. */
export const readRecord = (bytes: Buffer, place: RecordPlace): SpoolRecord => {
  const { body, end } = place;
  if (bytes[body] !== formats.event) return { type: 'visit', visit: readVisit(bytes, place) };
  const keyStart = body + minBodyBytes;
  const keyEnd = keyStart + bytes.readUInt16BE(body + 8);
  const key = bytes.toString('utf8', keyStart, keyEnd);
  return { type: 'event', key, value: bytes.toString('utf8', keyEnd, end) };
};
