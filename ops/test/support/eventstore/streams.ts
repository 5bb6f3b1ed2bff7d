import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';

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
}

export type AppendOutcome =
  | { readonly result: 'success'; readonly revision: number }
  | { readonly result: 'wrong-expected-version'; readonly current: number | null }
  | { readonly result: 'stream-deleted' };

/** A line of the file. */
interface Append {
  readonly stream: string;
  readonly events: readonly ProposedEvent[];
}

/** Size of an event for the server's limit of an append. */
export const sizeOnDisk = ({ type, data, metadata }: ProposedEvent): number =>
  Buffer.byteLength(data, 'base64') + Buffer.byteLength(metadata, 'base64') + type.length * 2;

/**
 * The streams of the server, in memory and optionally in a file, which is written before the response. The rules are
 * those of `IndexWriter.CheckCommit` of the server.
 */
export class Streams {
  readonly #streams = new Map<string, StoredEvent[] | null>();
  readonly #file: number | null;

  constructor(file: string | null = null) {
    if (file !== null) this.#load(file);
    this.#file = file === null ? null : openSync(file, 'a');
  }

  names(): readonly string[] {
    return [...this.#streams.keys()];
  }

  /** The events of a stream; `null`: deleted; empty: no stream. */
  events(stream: string): readonly StoredEvent[] | null {
    const events = this.#streams.get(stream);
    return events === undefined ? [] : events;
  }

  append(
    stream: string,
    expected: 'no_stream' | number,
    proposed: readonly ProposedEvent[],
  ): AppendOutcome {
    const events = this.events(stream);
    if (events === null) return { result: 'stream-deleted' };
    const current = events.length - 1;
    const version = expected === 'no_stream' ? -1 : expected;
    const revision = version + proposed.length;
    // Ids are not compared if the version is correct: an event can be stored twice.
    if (version === current) {
      const append = { stream, events: proposed };
      if (this.#file !== null) writeSync(this.#file, `${JSON.stringify(append)}\n`);
      this.#apply(append);
      return { result: 'success', revision };
    }
    const isRetry = proposed.every(({ id }, index) => events[version + 1 + index]?.id === id);
    return version < current && isRetry
      ? { result: 'success', revision }
      : { result: 'wrong-expected-version', current: current < 0 ? null : current };
  }

  tombstone(stream: string): void {
    this.#streams.set(stream, null);
  }

  /** Truncates a stream, like a restore of an old backup. */
  cut(stream: string, length: number): void {
    this.#streams.get(stream)?.splice(length);
    if (length === 0) this.#streams.delete(stream);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }

  #apply({ stream, events: added }: Append): void {
    const events = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, events);
    for (const event of added) events.push({ ...event, revision: events.length });
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
