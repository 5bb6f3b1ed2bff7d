import {
  EventStoreDBClient,
  jsonEvent,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  type JSONEventType,
} from '@eventstore/db-client';
import type { ArchivedEvent } from './archived-event.js';
import { AppendTooLarge, ArchiveUnavailable, StreamRefused, WrongRevision } from './errors.js';

/** A call that has no answer by then has failed; its outcome is unknown. */
const answerMs = 4_000;

/** What the archive is asked: EventStoreDB, as far as it is needed. */
export interface ArchiveStore {
  /**
   * Appends events to a stream so that the first one's revision is `first`. What is there already, at
   * just these revisions, is taken for appended.
   *
   * @throws WrongRevision, AppendTooLarge, StreamRefused, ArchiveUnavailable
   */
  append(stream: string, first: number, events: readonly ArchivedEvent[]): Promise<void>;
  /**
   * The ids that a stream has from a revision on, so many at most.
   *
   * @throws StreamRefused, ArchiveUnavailable
   */
  ids(stream: string, first: number, count: number): Promise<readonly string[]>;
  /** @throws ArchiveUnavailable */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** gRPC's status for a request that is wrong in itself. */
const invalidArgument = 3;

/** An error of the client as one of ours. */
const translated = (error: unknown): Error => {
  if (error instanceof StreamRefused) return error;
  if (error instanceof WrongExpectedVersionError) return new WrongRevision(error.message);
  if (error instanceof MaxAppendSizeExceededError) return new AppendTooLarge(error.message);
  if (error instanceof StreamDeletedError) return new StreamRefused('The stream was deleted');
  const { type, code } = error as { readonly type?: unknown; readonly code?: unknown };
  if (code === invalidArgument) return new StreamRefused((error as Error).message);
  const name = typeof type === 'string' ? type.toUpperCase().replaceAll('-', '_') : 'UNAVAILABLE';
  return new ArchiveUnavailable(name, error);
};

/** What the client keeps to itself. */
interface Internals {
  supports: () => Promise<boolean>;
  handleError: (...args: readonly unknown[]) => Promise<void>;
}

/**
 * The client of a connection string; it connects when it is first used.
 *
 * @throws what the client says of a string that it cannot use
 */
export const openArchiveStore = (url: string): ArchiveStore => {
  const client = EventStoreDBClient.connectionString(url);
  const internals = client as unknown as Internals;
  // Appends go by the call that has a deadline, each on its own. The client's other way, a stream of
  // batches for all of them, knows none: an append whose answer is lost never settles there, and one
  // connection's loss rejects the appends of all others, whose answers then end the process.
  internals.supports = () => Promise.resolve(false);
  // After a failed call it looks for another node, and nobody awaits that: where it finds none, the
  // next call says so, and this must not end the process.
  const { handleError } = internals;
  internals.handleError = (...args) => handleError(...args).catch(() => undefined);

  const read = async (stream: string, first: number, count: number): Promise<readonly string[]> => {
    const reading = client.readStream<JSONEventType>(stream, {
      fromRevision: BigInt(first),
      maxCount: count,
      requiresLeader: true,
    });
    // Reads have no deadline of their own.
    const late = setTimeout(() => {
      reading.destroy(new ArchiveUnavailable('DEADLINE_EXCEEDED', null));
      // What cannot be cancelled has failed by itself.
      reading.cancel().catch(() => undefined);
    }, answerMs);
    // It may say so once more when it is over; without a listener that would end the process.
    reading.on('error', () => undefined);
    try {
      const ids: string[] = [];
      for await (const { event } of reading) {
        if (event?.revision !== BigInt(first + ids.length)) {
          throw new StreamRefused('Old events of the stream were truncated');
        }
        ids.push(event.id);
      }
      return ids;
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      if (error instanceof ArchiveUnavailable) throw error;
      throw translated(error);
    } finally {
      clearTimeout(late);
    }
  };

  return {
    async append(stream, first, events) {
      const proposed = events.map(({ id, type, data, metadata }) =>
        jsonEvent({ id, type, data: { ...data }, metadata: { ...metadata } }),
      );
      let end: bigint;
      try {
        const result = await client.appendToStream<JSONEventType>(stream, proposed, {
          expectedRevision: first === 0 ? 'no_stream' : BigInt(first - 1),
          // Only the leader knows where a stream ends.
          requiresLeader: true,
          deadline: answerMs,
        });
        end = result.nextExpectedRevision;
      } catch (error) {
        throw translated(error);
      }
      // A stream that was deleted, though not for good, begins anew wherever it ended.
      if (end !== BigInt(first + events.length - 1)) {
        throw new StreamRefused('The stream was deleted, and begins anew at another revision');
      }
    },
    ids: read,
    async ping() {
      await read('platform', 0, 1);
    },
    // An idle connection keeps no process alive.
    close: () => client.dispose(),
  };
};
