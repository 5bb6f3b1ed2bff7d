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
  /** Bytes that count toward the server's limit of an append. */
  readonly size: number;
}

export class ArchiveUnavailable extends Error {
  constructor(
    /** The code, such as `UNAVAILABLE`, `DEADLINE_EXCEEDED` or `ACCESS_DENIED`. */
    readonly code: string,
    cause: unknown,
  ) {
    super('The archive cannot be used', { cause });
  }
}

/** A stream ends before an archived event: EventStoreDB has lost events. */
export class ArchiveCut extends Error {
  readonly code = 'ARCHIVE_CUT';

  constructor(stream: string, revision: number) {
    super(
      `The archive's stream ${stream} has no revision ${revision - 1}, which it had: was ` +
        `EventStoreDB restored from an older copy, or is it another one?`,
    );
  }
}

/** A stream rejects these events permanently. */
export class StreamRefused extends Error {
  readonly code = 'STREAM_REFUSED';
}

export class AppendTooLarge extends StreamRefused {}

export class WrongRevision extends Error {
  readonly code = 'WRONG_REVISION';
}

/** Deadline of a call (ms), after which its outcome is unknown. */
const deadlineMs = 4_000;

/** The gRPC status INVALID_ARGUMENT. */
const invalidArgument = 3;

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
 * Opens the EventStoreDB of a connection string. The client connects at its first call.
 *
 * @throws the client's error about an invalid connection string
 */
export const openArchiveStore = (url: string) => {
  const client = EventStoreDBClient.connectionString(url);
  const internals = client as unknown as Internals;
  // This makes each append a call with a deadline. The client's default is one stream of batches without a deadline: an
  // append whose response is lost never resolves, and the loss of one connection rejects all other appends, whose
  // responses then end the process.
  internals.supports = () => Promise.resolve(false);
  // After a failed call, the client discovers another node in the background. Its rejection must not end the process; the
  // next call fails instead.
  const { handleError } = internals;
  internals.handleError = (...args) => handleError(...args).catch(() => undefined);

  /**
   * Returns up to `count` ids of a stream from revision `first` on.
   *
   * @throws StreamRefused, ArchiveUnavailable
   */
  const ids = async (stream: string, first: number, count: number): Promise<readonly string[]> => {
    const reading = client.readStream<JSONEventType>(stream, {
      fromRevision: BigInt(first),
      maxCount: count,
      requiresLeader: true,
    });
    // The client has no deadline for reads.
    const late = setTimeout(() => {
      reading.destroy(new ArchiveUnavailable('DEADLINE_EXCEEDED', null));
      // Only a call that has already failed cannot be cancelled.
      reading.cancel().catch(() => undefined);
    }, deadlineMs);
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
     * Appends events to a stream from revision `first` on. It is idempotent.
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
          deadline: deadlineMs,
        });
        end = result.nextExpectedRevision;
      } catch (error) {
        throw translated(error);
      }
      // A soft-deleted stream continues at the revision where it ended.
      if (end !== BigInt(first + events.length - 1)) {
        throw new StreamRefused('The stream was deleted, and begins anew at another revision');
      }
    },
    ids,
    /** @throws ArchiveUnavailable */
    async ping(): Promise<void> {
      await ids('platform', 0, 1);
    },
    close: () => client.dispose(),
  };
};

export type ArchiveStore = ReturnType<typeof openArchiveStore>;
