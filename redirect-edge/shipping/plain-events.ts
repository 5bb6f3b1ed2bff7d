import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { murmur2, partitionOfHash } from '../../ops/event-log/partition.js';
import { catalogue } from '../../schemas/events/catalogue.js';
import { sequenceDigits } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import { maxTextBytes, numbersIn, TextCursor, texts, type RecordPlace } from '../spool/record.js';
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
  end: ascii('}}'),
  null: ascii('null'),
};

const quote = 0x22;
const zero = 0x30;

/** What follows in both record and event, the same for many visits. */
const commonFacts = ['country', 'referrer', 'browser', 'os', 'device', 'language'];
const commonCount = commonFacts.length;

/** The JSON of those, by what the record has of them. */
const commonPieces = new BoundedMap<string, Buffer>(2_000);

const halfDigits = 8;
const half = 10 ** halfDigits;

const digitsOf = (value: number): number => {
  let digits = 1;
  for (let above = 10; value >= above; above *= 10) digits += 1;
  return digits;
};

/** More than any event takes. */
const maxEventBytes = texts * maxTextBytes + 1_024;

/**
 * The events of the visits of a chunk in whose texts JSON has nothing to escape, to the byte what the codec writes.
 * Made of the record's bytes: as a string, each would cost three times as much, and work for the collector.
 */
export class PlainEvents {
  readonly #writer: LineWriter;
  readonly #chunk: Buffer;
  readonly #cursor: TextCursor;
  /** Its bytes as a text: a slice of that costs less than a call of `toString`. */
  readonly #latin1: string;
  readonly #source: Buffer;
  /** Where the event is written, and how far it is. */
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
  add(place: RecordPlace): void {
    const cursor = this.#cursor;
    const { at, bot, version } = numbersIn(this.#chunk, place);
    cursor.enter(place);
    cursor.next();
    const hash = murmur2(this.#chunk, cursor.start, cursor.end);
    const lines = this.#writer.begin(
      partitionOfHash(hash, topics.visits.partitions),
      maxEventBytes,
    );
    this.#bytes = lines.bytes;
    this.#length = lines.end;
    this.#put(pieces.id);
    this.#writeNumber(place.sequence, digitsOf(place.sequence));
    this.#put(this.#source);
    this.#copy();
    this.#put(pieces.time);
    this.#writeTime(at);
    this.#put(pieces.sequence);
    this.#writeNumber(place.sequence, sequenceDigits);
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
    this.#put(pieces.end);
    lines.end = this.#length;
  }

  #put(piece: Buffer): void {
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  /** A whole number below 10^16, in so many digits. */
  #writeNumber(value: number, digits: number): void {
    const bytes = this.#bytes;
    const end = this.#length + digits;
    // In two halves, which are small enough for the arithmetic of integers.
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

  /** The text where the cursor is. */
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

  /** `toISOString` but for the `Z`; most times are in the same second as the one before. */
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
    const json = commonFacts.map((name) => {
      const value = cursor.next() ? this.#chunk.toString('latin1', cursor.start, cursor.end) : null;
      return `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
    });
    const piece = ascii(json.join(''));
    // A slice would hold the whole chunk.
    commonPieces.set(this.#chunk.toString('latin1', start, end), piece);
    return piece;
  }
}
