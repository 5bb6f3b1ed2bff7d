import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { randomUUID } from 'node:crypto';

export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  /** Base64, like `metadata`. */
  readonly data: string;
  readonly metadata: string;
}

export interface StoredEvent extends ProposedEvent {
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly created: number;
}

export type AppendOutcome =
  | { readonly result: 'success'; readonly revision: number }
  /** Written, and not committed yet. */
  | { readonly result: 'pending'; readonly revision: number }
  /** A repeat of events that are not committed yet. */
  | { readonly result: 'dropped' }
  | { readonly result: 'wrong-expected-version'; readonly current: number | null }
  | { readonly result: 'stream-deleted' };

/** A line of the file. */
interface Append {
  readonly stream: string;
  readonly events: readonly ProposedEvent[];
}

interface Stream {
  /** Scavenged events are `null`. */
  readonly events: (StoredEvent | null)[];
  committed: number;
  hasTombstone: boolean;
}

/** The settings of a stream that remove events. */
export interface Retention {
  readonly $maxCount?: number;
  /** Seconds */
  readonly $maxAge?: number;
  readonly $tb?: number;
}

/** The `$tb` of a soft deletion, which JSON numbers of JavaScript cannot express. */
const softDeletion = '{"$tb":9223372036854775807}';

/** Size of an event for the server's limit of an append. */
export const sizeOnDisk = ({ type, data, metadata }: ProposedEvent): number =>
  Buffer.byteLength(data, 'base64') + Buffer.byteLength(metadata, 'base64') + type.length * 2;

/**
 * The streams of the server, in memory and optionally in a file, which is written before the response and has only
 * appended events. The rules are those of `IndexWriter.CheckCommit` of the server.
 */
export class Streams {
  /** Whether appended events are committed immediately. */
  hasQuorum = true;
  readonly #streams = new Map<string, Stream>();
  readonly #file: number | null;
  /** How much later than the computer's clock it is for `$maxAge` (ms). */
  #laterMs = 0;

  constructor(file: string | null = null) {
    if (file !== null) this.#load(file);
    this.#file = file === null ? null : openSync(file, 'a');
  }

  /** The names of the streams, without those of metadata. */
  names(): readonly string[] {
    return [...this.#streams.keys()].filter((name) => !name.startsWith('$$'));
  }

  /** The committed events of a stream that the server stores, also hidden ones; `null`: a tombstone. */
  events(stream: string): readonly StoredEvent[] | null {
    const state = this.#streams.get(stream);
    if (state?.hasTombstone) return null;
    return (state?.events.slice(0, state.committed) ?? []).filter((event) => event !== null);
  }

  /** The events that reads return; `null`: a tombstone; `undefined`: no stream. */
  visible(stream: string): readonly StoredEvent[] | null | undefined {
    const events = this.events(stream);
    const committed = this.#streams.get(stream)?.committed ?? 0;
    if (events === null) return null;
    if (committed === 0 || this.#isSoftDeleted(stream)) return undefined;
    const { $maxCount = Infinity, $maxAge = Infinity, $tb = 0 } = this.#retention(stream);
    const first = Math.max($tb, committed - $maxCount);
    const oldest = Date.now() + this.#laterMs - $maxAge * 1_000;
    return events.filter(({ revision, created }) => revision >= first && created > oldest);
  }

  append(
    stream: string,
    expected: 'no_stream' | number,
    proposed: readonly ProposedEvent[],
  ): AppendOutcome {
    const state = this.#streams.get(stream);
    if (state?.hasTombstone) return { result: 'stream-deleted' };
    const { events, committed } = state ?? { events: [], committed: 0 };
    const current = events.length - 1;
    const version = expected === 'no_stream' ? -1 : expected;
    const known = proposed.findIndex(({ id }, index) => events[version + 1 + index]?.id !== id);
    const isDeleted = this.#isSoftDeleted(stream);
    // Ids are not compared if the version is correct: an event can be stored twice.
    if (version === current || (expected === 'no_stream' && known === 0 && isDeleted)) {
      if (isDeleted) this.retain(stream, { $tb: events.length });
      this.#write({ stream, events: proposed });
      const revision = current + proposed.length;
      return { result: this.hasQuorum ? 'success' : 'pending', revision };
    }
    if (version > current || known !== -1) {
      return { result: 'wrong-expected-version', current: current < 0 ? null : current };
    }
    const revision = version + proposed.length;
    return revision < committed ? { result: 'success', revision } : { result: 'dropped' };
  }

  retain(stream: string, retention: Retention): void {
    this.#setMetadata(stream, JSON.stringify(retention));
  }

  softDelete(stream: string): void {
    this.#setMetadata(stream, softDeletion);
  }

  tombstone(stream: string): void {
    this.#streams.set(stream, { events: [], committed: 0, hasTombstone: true });
  }

  /** Erases hidden events, except the last one of each stream. */
  scavenge(): void {
    for (const [name, { events, committed }] of this.#streams) {
      const visible = new Set(this.visible(name));
      for (let index = 0; index < committed - 1; index += 1) {
        const event = events[index];
        if (event && !visible.has(event)) events[index] = null;
      }
    }
  }

  /** Advances the clock of `$maxAge`. */
  elapse(seconds: number): void {
    this.#laterMs += seconds * 1_000;
  }

  commit(): void {
    for (const stream of this.#streams.values()) stream.committed = stream.events.length;
  }

  /** Truncates uncommitted events, like a leader that returns after another one was elected. */
  rollback(): void {
    for (const [name, { committed }] of this.#streams) this.cut(name, committed);
  }

  /** Truncates a stream, like a restore of an old backup. */
  cut(name: string, length: number): void {
    const stream = this.#streams.get(name);
    stream?.events.splice(length);
    if (stream) stream.committed = Math.min(stream.committed, length);
    if (length === 0) this.#streams.delete(name);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }

  #retention(stream: string): Retention {
    const newest = this.events(`$$${stream}`)?.at(-1);
    return newest ? (JSON.parse(Buffer.from(newest.data, 'base64').toString()) as Retention) : {};
  }

  #isSoftDeleted(stream: string): boolean {
    return (this.#retention(stream).$tb ?? 0) >= 2 ** 63;
  }

  #setMetadata(stream: string, json: string): void {
    const event = { id: randomUUID(), type: '$metadata', contentType: 'application/json' };
    const data = Buffer.from(json).toString('base64');
    this.#write({ stream: `$$${stream}`, events: [{ ...event, data, metadata: '' }] });
  }

  #write(append: Append): void {
    if (this.#file !== null) writeSync(this.#file, `${JSON.stringify(append)}\n`);
    this.#apply(append);
  }

  #apply({ stream, events: added }: Append): void {
    const state = this.#streams.get(stream) ?? { events: [], committed: 0, hasTombstone: false };
    this.#streams.set(stream, state);
    const created = Date.now() + this.#laterMs;
    for (const event of added) {
      state.events.push({ ...event, revision: state.events.length, created });
    }
    if (this.hasQuorum) state.committed = state.events.length;
  }

  /** Reads the file; an incomplete last line is from a kill before the response. */
  #load(file: string): void {
    closeSync(openSync(file, 'a'));
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
    for (const line of whole.split('\n').slice(0, -1)) this.#apply(JSON.parse(line) as Append);
  }
}
