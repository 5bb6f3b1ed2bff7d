import {
  EventStoreDBClient,
  jsonEvent,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  type JSONEventType,
} from '@eventstore/db-client';

export interface ArchivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: object;
  /** Bytes towards the server's limit of an append. */
  readonly size: number;
}

/** The archive does not answer, or not now: a retry may succeed. */
export class ArchiveUnavailable extends Error {
  constructor(
    /** Such as `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `ACCESS_DENIED`. */
    readonly code: string,
    cause: unknown,
  ) {
    super('The archive cannot be used', { cause });
  }
}

/** A stream ends before an event that it had: EventStoreDB has lost events. */
export class ArchiveCut extends Error {
  readonly code = 'ARCHIVE_CUT';

  constructor(stream: string, revision: number) {
    super(
      `The archive's stream ${stream} has no revision ${revision - 1}, which it had: was ` +
        `EventStoreDB restored from an older copy, or is it another one?`,
    );
  }
}

/** A stream does not take these events, however often they are sent. */
export class StreamRefused extends Error {
  readonly code = 'STREAM_REFUSED';
}

/** The append has more bytes than the server takes. */
export class AppendTooLarge extends StreamRefused {}

/** The stream does not end where the append begins. */
export class WrongRevision extends Error {
  readonly code = 'WRONG_REVISION';
}

/** Deadline of a call, in milliseconds. A call without an answer by then has an unknown outcome. */
const answerMs = 4_000;

/** gRPC's status of an invalid request. */
const invalidArgument = 3;

/** Translates an error of the client into one of ours. */
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

/** Private methods of the client. */
interface Internals {
  supports: () => Promise<boolean>;
  handleError: (...args: readonly unknown[]) => Promise<void>;
}

/**
 * The calls to EventStoreDB that the archive needs. The client of the connection string connects at
 * its first call.
 *
 * @throws the client's error about a connection string that it cannot use
 */
export const openArchiveStore = (url: string) => {
  const client = EventStoreDBClient.connectionString(url);
  const internals = client as unknown as Internals;
  // This makes each append a call with a deadline. The client's default is one stream of batches,
  // without a deadline: an append whose answer is lost never settles, and the loss of one connection
  // rejects all other appends, whose answers then end the process.
  internals.supports = () => Promise.resolve(false);
  // After a failed call the client looks for another node, and nobody awaits that. If there is none,
  // the next call fails; the unawaited failure must not end the process.
  const { handleError } = internals;
  internals.handleError = (...args) => handleError(...args).catch(() => undefined);

  /**
   * The ids that a stream has from the revision `first` on, `count` at most.
   *
   * @throws StreamRefused, ArchiveUnavailable
   */
  const ids = async (stream: string, first: number, count: number): Promise<readonly string[]> => {
    const reading = client.readStream<JSONEventType>(stream, {
      fromRevision: BigInt(first),
      maxCount: count,
      requiresLeader: true,
    });
    // Reads have no deadline of their own.
    const late = setTimeout(() => {
      reading.destroy(new ArchiveUnavailable('DEADLINE_EXCEEDED', null));
      // A call that cannot be cancelled has failed already.
      reading.cancel().catch(() => undefined);
    }, answerMs);
    // A late error event without a listener would end the process.
    reading.on('error', () => undefined);
    try {
      const found: string[] = [];
      for await (const { event } of reading) {
        if (event?.revision !== BigInt(first + found.length)) {
          throw new StreamRefused('Old events of the stream were truncated');
        }
        found.push(event.id);
      }
      return found;
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      if (error instanceof ArchiveUnavailable) throw error;
      throw translated(error);
    } finally {
      clearTimeout(late);
    }
  };

  return {
    /**
     * Appends events to a stream; the first gets the revision `first`. The same events at the same
     * revisions count as appended.
     *
     * @throws WrongRevision, AppendTooLarge, StreamRefused, ArchiveUnavailable
     */
    async append(stream: string, first: number, events: readonly ArchivedEvent[]): Promise<void> {
      const proposed = events.map(({ id, type, data, metadata }) =>
        jsonEvent({ id, type, data: { ...data }, metadata: { ...metadata } }),
      );
      let end: bigint;
      try {
        const result = await client.appendToStream<JSONEventType>(stream, proposed, {
          expectedRevision: first === 0 ? 'no_stream' : BigInt(first - 1),
          // Only the leader knows the end of a stream.
          requiresLeader: true,
          deadline: answerMs,
        });
        end = result.nextExpectedRevision;
      } catch (error) {
        throw translated(error);
      }
      // A stream that was soft-deleted goes on at the revision where it ended.
      if (end !== BigInt(first + events.length - 1)) {
        throw new StreamRefused('The stream was deleted, and begins anew at another revision');
      }
    },
    ids,
    /** @throws ArchiveUnavailable */
    async ping(): Promise<void> {
      await ids('platform', 0, 1);
    },
    // An idle connection keeps no process alive.
    close: () => client.dispose(),
  };
};

export type ArchiveStore = ReturnType<typeof openArchiveStore>;
