import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { z } from 'zod';

const proposedEvent = z.object({
  id: z.string(),
  type: z.string(),
  contentType: z.string(),
  /** Base64, like `metadata`. */
  data: z.string(),
  metadata: z.string(),
});
export type ProposedEvent = z.infer<typeof proposedEvent>;

export interface StoredEvent extends ProposedEvent {
  readonly revision: number;
  readonly position: number;
  readonly created: Date;
}

export type ExpectedVersion = 'any' | 'stream_exists' | 'no_stream' | number;

export type AppendOutcome =
  | { readonly result: 'success'; readonly revision: number; readonly position: number }
  | { readonly result: 'wrong-expected-version'; readonly current: number | null }
  | { readonly result: 'stream-deleted' };

/** A line of the file: an append, or the deletion of a stream (`null`). */
const entry = z.object({
  stream: z.string(),
  at: z.number(),
  events: z.array(proposedEvent).nullable(),
});
type Entry = z.infer<typeof entry>;

/** Size of an event for the server's limit of an append. */
export const sizeOnDisk = ({ type, data, metadata }: ProposedEvent): number =>
  Buffer.byteLength(data, 'base64') + Buffer.byteLength(metadata, 'base64') + type.length * 2;

/** A deleted stream. */
const tombstone = null;

/**
 * The streams of the server, in memory and optionally in a file, which is written before the response. The rules are
 * those of `IndexWriter.CheckCommit` of the server.
 */
export class Streams {
  readonly #streams = new Map<string, StoredEvent[] | typeof tombstone>();
  readonly #file: number | null;
  #position = 0;

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
    expected: ExpectedVersion,
    proposed: readonly ProposedEvent[],
  ): AppendOutcome {
    const events = this.events(stream);
    if (events === null) return { result: 'stream-deleted' };
    const current = events.length - 1;
    const wrong = {
      result: 'wrong-expected-version',
      current: current < 0 ? null : current,
    } as const;

    if (typeof expected === 'string' && expected !== 'no_stream') {
      if (expected === 'stream_exists' && current < 0) return wrong;
      const existing = proposed.map(({ id }) => events.find((event) => event.id === id));
      // All events exist: a retry. Some exist: a conflict.
      const [first] = existing;
      if (first) {
        const last = existing.at(-1);
        return last && !existing.includes(undefined) ? this.#known(last) : wrong;
      }
      return this.#write(stream, proposed);
    }

    const version = expected === 'no_stream' ? -1 : expected;
    if (version > current) return wrong;
    if (version < current) {
      const same = proposed.every(({ id }, index) => events[version + 1 + index]?.id === id);
      const last = events[version + proposed.length];
      return same && last && proposed.length > 0 ? this.#known(last) : wrong;
    }
    // Ids are not compared if the version is correct: an event can be stored twice.
    return this.#write(stream, proposed);
  }

  tombstone(stream: string): void {
    this.#apply({ stream, at: Date.now(), events: null }, true);
  }

  /** Truncates a stream, like a restore of an old backup. */
  cut(stream: string, length: number): void {
    this.#streams.get(stream)?.splice(length);
    if (length === 0) this.#streams.delete(stream);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }

  #known({ revision, position }: StoredEvent): AppendOutcome {
    return { result: 'success', revision, position };
  }

  #write(stream: string, proposed: readonly ProposedEvent[]): AppendOutcome {
    this.#apply({ stream, at: Date.now(), events: [...proposed] }, true);
    const revision = (this.events(stream) ?? []).length - 1;
    return { result: 'success', revision, position: this.#position };
  }

  #apply(change: Entry, isNew: boolean): void {
    if (isNew && this.#file !== null) writeSync(this.#file, `${JSON.stringify(change)}\n`);
    if (change.events === null) {
      this.#streams.set(change.stream, tombstone);
      return;
    }
    const events = this.#streams.get(change.stream) ?? [];
    this.#streams.set(change.stream, events);
    for (const event of change.events) {
      this.#position += 100;
      events.push({
        ...event,
        revision: events.length,
        position: this.#position,
        created: new Date(change.at),
      });
    }
  }

  /** Reads the file; an incomplete last line is from a kill before the response. */
  #load(file: string): void {
    closeSync(openSync(file, 'a'));
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
    for (const line of whole.split('\n').slice(0, -1)) {
      this.#apply(entry.parse(JSON.parse(line)), false);
    }
  }
}
