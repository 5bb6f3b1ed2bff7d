import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { murmur2, partitionOfHash } from '../../ops/event-log/partition.js';
import { catalogue } from '../../schemas/events/catalogue.js';
import { sequenceDigits } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import {
  maxSubjectBytes,
  maxTextBytes,
  numbersIn,
  TextCursor,
  texts,
  type RecordRange,
} from '../spool/record.js';
import type { LineWriter } from './line-writer.js';

const ascii = (text: string): Buffer => Buffer.from(text, 'latin1');

const pieces = {
  id: ascii('{"specversion":"1.0","id":"'),
  time: ascii('","time":"'),
  sequence: ascii('Z","datacontenttype":"application/json","sequence":"'),
  account: ascii('","account":"'),
  requestId: ascii('","correlationid":"'),
  bot: ascii('","data":{"click":null,"bot":true'),
  noBot: ascii('","data":{"click":null,"bot":false'),
  visitor: ascii(',"visitor":'),
  trigger: ascii(',"trigger":'),
  version: ascii(',"version":'),
  target: ascii(',"target":'),
  end: ascii('}}'),
  null: ascii('null'),
};

const quote = 0x22;
const zero = 0x30;

/** Consecutive fields of both record and event that are equal in many visits. */
const commonFields = ['country', 'referrer', 'browser', 'os', 'device', 'language'];
const commonCount = commonFields.length;

/** The JSON of these fields, by their bytes in the record. */
const commonPieces = new BoundedMap<string, Buffer>(2_000);

const halfDigits = 8;
const half = 10 ** halfDigits;

const digitsOf = (value: number): number => {
  let digits = 1;
  for (let above = 10; value >= above; above *= 10) digits += 1;
  return digits;
};

/** An upper bound of the size of an event. */
const maxEventBytes = maxSubjectBytes + texts * maxTextBytes + 1_024;

/**
 * Writes the events of plain visits, byte for byte as the codec does. It copies the bytes of the record: strings would
 * cost three times as much, and garbage collection.
 */
export class PlainEvents {
  readonly #writer: LineWriter;
  readonly #chunk: Buffer;
  readonly #cursor: TextCursor;
  /** The chunk as a string: a slice of it is cheaper than a call of `toString`. */
  readonly #latin1: string;
  readonly #source: Buffer;
  /** The buffer of the current event, and the offset of its next byte. */
  #bytes = pieces.null;
  #length = 0;
  #second = NaN;
  #secondText = pieces.null;

  constructor(chunk: Buffer, source: string, writer: LineWriter) {
    this.#writer = writer;
    this.#chunk = chunk;
    this.#latin1 = chunk.toString('latin1');
    this.#cursor = new TextCursor(chunk);
    const { type } = catalogue.LinkVisited;
    this.#source = ascii(`","type":"${type}","source":"${source}","subject":"`);
  }

  /** Writes the visit's event as a line. */
  add(range: RecordRange): void {
    const cursor = this.#cursor;
    const { at, bot, version } = numbersIn(this.#chunk, range);
    cursor.enter(range);
    const hash = murmur2(this.#chunk, cursor.start, cursor.end);
    const lines = this.#writer.begin(
      partitionOfHash(hash, topics.visits.partitions),
      maxEventBytes,
    );
    this.#bytes = lines.bytes;
    this.#length = lines.end;
    this.#put(pieces.id);
    this.#writeNumber(range.sequence, digitsOf(range.sequence));
    this.#put(this.#source);
    this.#copy();
    this.#put(pieces.time);
    this.#writeTime(at);
    this.#put(pieces.sequence);
    this.#writeNumber(range.sequence, sequenceDigits);
    this.#put(pieces.account);
    cursor.next();
    this.#copy();
    if (cursor.next()) {
      this.#put(pieces.requestId);
      this.#copy();
    }
    this.#put(bot ? pieces.bot : pieces.noBot);
    this.#put(this.#commonPiece());
    this.#put(pieces.visitor);
    this.#putNext();
    this.#put(pieces.trigger);
    this.#putNext();
    this.#put(pieces.version);
    if (version === null) this.#put(pieces.null);
    else this.#writeNumber(version, digitsOf(version));
    this.#put(pieces.target);
    this.#putNext();
    this.#put(pieces.end);
    lines.end = this.#length;
  }

  #put(piece: Buffer): void {
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  /** Writes an integer below 10^16 with leading zeros. */
  #writeNumber(value: number, digits: number): void {
    const bytes = this.#bytes;
    const end = this.#length + digits;
    // In two halves, which fit into 32-bit integers.
    let high = Math.floor(value / half) | 0;
    let low = (value - high * half) | 0;
    let at = end - 1;
    for (const middle = Math.max(this.#length, end - halfDigits); at >= middle; at -= 1) {
      bytes[at] = zero + (low % 10);
      low = (low / 10) | 0;
    }
    for (; at >= this.#length; at -= 1) {
      bytes[at] = zero + (high % 10);
      high = (high / 10) | 0;
    }
    this.#length = end;
  }

  /** Copies the current text of the cursor. */
  #copy(): void {
    const bytes = this.#bytes;
    const chunk = this.#chunk;
    const { start, end } = this.#cursor;
    const to = this.#length;
    for (let index = 0; start + index < end; index += 1) {
      bytes[to + index] = chunk[start + index] ?? 0;
    }
    this.#length = to + end - start;
  }

  #putNext(): void {
    if (!this.#cursor.next()) {
      this.#put(pieces.null);
      return;
    }
    this.#bytes[this.#length] = quote;
    this.#length += 1;
    this.#copy();
    this.#bytes[this.#length] = quote;
    this.#length += 1;
  }

  /** Writes `toISOString` without the `Z`. Most times are in the same second as the previous one. */
  #writeTime(at: number): void {
    const millisecond = at % 1_000;
    if (at - millisecond !== this.#second) {
      this.#second = at - millisecond;
      this.#secondText = ascii(new Date(this.#second).toISOString().slice(0, -4));
    }
    this.#put(this.#secondText);
    this.#writeNumber(millisecond, 3);
  }

  #commonPiece(): Buffer {
    const cursor = this.#cursor;
    const start = cursor.end;
    for (let passed = 0; passed < commonCount; passed += 1) cursor.next();
    const common = this.#latin1.slice(start, cursor.end);
    const { end } = cursor;
    const known = commonPieces.get(common);
    if (known) return known;
    cursor.end = start;
    const json = commonFields.map((name) => {
      const value = cursor.next() ? this.#chunk.toString('latin1', cursor.start, cursor.end) : null;
      return `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
    });
    const piece = ascii(json.join(''));
    // A slice as the key would retain the whole chunk.
    commonPieces.set(this.#chunk.toString('latin1', start, end), piece);
    return piece;
  }
}
