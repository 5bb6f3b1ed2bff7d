import { randomUUID } from 'node:crypto';
import {
  EventStoreDBClient,
  jsonEvent,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
  type JSONEventType,
  type Position,
  type ResolvedEvent,
  type StreamingRead,
} from '@eventstore/db-client';
import { withinDeadline } from '../../../ops/platform/concurrency/deadline.js';
import { retry } from '../../../ops/platform/concurrency/retry.js';

export interface ArchivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
  readonly metadata: object;
}

export interface StoredEvent extends ArchivedEvent {
  readonly stream: string;
  readonly revision: number;
  /** Of a read of $all. */
  readonly position: Position | undefined;
}

/** What EventStoreDB stores about a stream in `$$<name>`. */
export interface StreamMetadata {
  readonly $maxCount?: number;
  /** The unit is seconds. */
  readonly $maxAge?: number;
  /** The first revision that is not removed. */
  readonly $tb?: number;
}

/** A soft deletion truncates before 2^63 - 1, which JSON.parse rounds to 2^63. */
export const isSoftDeleted = ({ $tb = 0 }: StreamMetadata): boolean => $tb >= 2 ** 63;

export type AppendOutcome =
  /** `last` is the revision of the last appended event. */
  | { readonly type: 'appended'; readonly last: number }
  /** The stream ends at another revision; -1: there is no stream. Uncommitted events count. */
  | { readonly type: 'conflict'; readonly last: number }
  /** The stream has a tombstone. */
  | { readonly type: 'deleted' }
  /** The server does not accept one of the events, or so many bytes. */
  | { readonly type: 'rejected'; readonly message: string };

/** The code is that of the dependency's state. */
export abstract class ArchiveFailure extends Error {
  abstract readonly code: string;
}

export class ArchiveUnavailable extends ArchiveFailure {
  constructor(
    readonly code: 'UNAVAILABLE' | 'TIMEOUT' | 'ACCESS_DENIED',
    cause: unknown,
  ) {
    super('The archive cannot be used', { cause });
  }
}

/** A stream ends before an archived event: EventStoreDB has lost events. */
export class ArchiveCut extends ArchiveFailure {
  readonly code = 'ARCHIVE_CUT';

  constructor(stream: string, revision: number) {
    super(
      `The archive's stream ${stream} has no revision ${revision}, which it had: was ` +
        `EventStoreDB restored from an older copy, or is it another one?`,
    );
  }
}

/** A stream has an event that the log does not have. The id is unknown if the stream names another log. */
export class ArchiveForeign extends ArchiveFailure {
  readonly code = 'ARCHIVE_FOREIGN';

  constructor(
    readonly stream: string,
    readonly revision: number,
    readonly id?: string,
  ) {
    super(
      `The archive's stream ${stream} has an event of another log at revision ${revision}: was linklog restored ` +
        'from an older backup, or does another one write to this archive?',
    );
  }
}

/** Deadline of a call (ms), after which its outcome is unknown. */
const deadlineMs = 4_000;

/** The gRPC status INVALID_ARGUMENT. */
const invalidArgument = 3;

interface ClientError {
  readonly type?: unknown;
  readonly code?: unknown;
}

const unavailable = (error: unknown): ArchiveUnavailable => {
  const { type, code } = error as ClientError;
  if (type === 'access-denied') return new ArchiveUnavailable('ACCESS_DENIED', error);
  const isLate = type === 'timeout' || type === 'deadline-exceeded' || code === 'DEADLINE_PASSED';
  return new ArchiveUnavailable(isLate ? 'TIMEOUT' : 'UNAVAILABLE', error);
};

/** Private methods of the client. */
interface Internals {
  supports: () => Promise<boolean>;
  handleError: (...args: readonly unknown[]) => Promise<void>;
  shouldReconnect: (error: ClientError) => readonly unknown[];
  callArguments: (options: object, callOptions?: { readonly deadline: number }) => unknown;
}

/**
 * Returns a connection string that the client accepts, and with which it uses all hosts: it does not know the schemes of
 * KurrentDB, and with `+discover` it uses only the first host. A silent seed delays a discovery by one second.
 */
export const clientUrl = (url: string): string =>
  url.replace(
    /^(?:esdb|kurrentdb|kdb)(\+discover)?:\/\/([^?]*?)\/?(?:\?(.*))?$/,
    (_, discover = '', hosts: string, options?: string) =>
      `esdb${hosts.includes(',') ? '' : discover}://${hosts}?gossipTimeout=1${options ? `&${options}` : ''}`,
  );

const openClient = (url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(clientUrl(url));
  const internals = client as unknown as Internals;
  // This makes each append a call with a deadline. The client's default is one stream of batches without a deadline: an
  // append whose response is lost never resolves, and the loss of one connection rejects all other appends, whose
  // responses then end the process.
  internals.supports = () => Promise.resolve(false);
  const { handleError, shouldReconnect, callArguments } = internals;
  // After a failed call, the client discovers another node in the background. Its rejection must not end the process; the
  // next call fails instead.
  internals.handleError = (...args) => handleError(...args).catch(() => undefined);
  // A node that hangs keeps its connections. By default, only a keepalive ends them, after up to 38 s.
  internals.shouldReconnect = (error) =>
    error.type === 'deadline-exceeded' ? [true] : shouldReconnect(error);
  // By default, reads have no deadline.
  internals.callArguments = (options, callOptions) =>
    callArguments(options, callOptions && { deadline: Date.now() + deadlineMs });
  return client;
};

/**
 * Opens the EventStoreDB of a connection string. The client connects at its first call. Each call has a deadline, which
 * includes the discovery of the leader.
 *
 * @throws the client's error about an invalid connection string
 */
export const openArchiveStore = (url: string) => {
  const client = openClient(url);

  /** @throws ArchiveUnavailable */
  const eventsOf = async (
    reading: StreamingRead<ResolvedEvent>,
  ): Promise<readonly StoredEvent[] | null> => {
    // A late error event without a listener would end the process.
    reading.on('error', () => undefined);
    const found: StoredEvent[] = [];
    const collect = async (): Promise<void> => {
      // Never left early: a response that is not read to its end would block `close` forever.
      for await (const { event } of reading) {
        if (!event) continue;
        const { id, type, data, metadata } = event as ArchivedEvent;
        const { streamId: stream, position } = event;
        const revision = Number(event.revision);
        found.push({ stream, revision, position, id, type, data, metadata });
      }
    };
    try {
      await withinDeadline(deadlineMs, collect);
      return found;
    } catch (error) {
      if (error instanceof StreamNotFoundError) return [];
      if (error instanceof StreamDeletedError) return null;
      throw unavailable(error);
    }
  };

  /**
   * Returns up to `count` visible events of a stream from a revision on, or the last ones in descending order; `null` if
   * the stream has a tombstone.
   *
   * @throws ArchiveUnavailable
   */
  const read = (stream: string, from: number | 'end', count: number) =>
    eventsOf(
      client.readStream<JSONEventType>(stream, {
        ...(from === 'end'
          ? { fromRevision: 'end', direction: 'backwards' }
          : { fromRevision: BigInt(from) }),
        maxCount: count,
        // Other nodes lag behind.
        requiresLeader: true,
      }),
    );

  const appendOnce = async (
    stream: string,
    expectedRevision: bigint | 'no_stream',
    events: readonly ArchivedEvent[],
  ): Promise<AppendOutcome> => {
    const proposed = events.map(({ id, type, data, metadata }) =>
      jsonEvent({ id, type, data: { ...data }, metadata: { ...metadata } }),
    );
    try {
      const { nextExpectedRevision } = await withinDeadline(deadlineMs, () =>
        client.appendToStream<JSONEventType>(stream, proposed, {
          expectedRevision,
          // Only the leader knows the end of a stream.
          requiresLeader: true,
          deadline: deadlineMs,
        }),
      );
      return { type: 'appended', last: Number(nextExpectedRevision) };
    } catch (error) {
      if (error instanceof WrongExpectedVersionError) {
        const last = error.actualVersion;
        return { type: 'conflict', last: typeof last === 'bigint' ? Number(last) : -1 };
      }
      if (error instanceof StreamDeletedError) return { type: 'deleted' };
      if ((error as ClientError).code === invalidArgument) {
        return { type: 'rejected', message: (error as Error).message };
      }
      throw unavailable(error);
    }
  };

  /**
   * Appends events to a stream from revision `first` on. It is idempotent. The server drops a repeat of an append that is
   * being committed, and reports a timeout after 2 s; the next repeat succeeds.
   *
   * @throws ArchiveUnavailable
   */
  const append = async (
    stream: string,
    first: number,
    events: readonly ArchivedEvent[],
  ): Promise<AppendOutcome> => {
    const expected = first === 0 ? 'no_stream' : BigInt(first - 1);
    return retry(() => appendOnce(stream, expected, events), {
      attempts: 2,
      isRetryable: (error) =>
        ((error as ArchiveUnavailable).cause as ClientError | undefined)?.type === 'timeout',
    });
  };

  return {
    append,
    read,
    /**
     * Returns up to `count` stored events of all streams after an event, also hidden ones, in the order of the appends.
     *
     * @throws ArchiveUnavailable
     */
    async readAll(after: StoredEvent | undefined, count: number): Promise<readonly StoredEvent[]> {
      const fromPosition = after?.position ?? 'start';
      // A read from the position of an event includes it.
      const maxCount = after ? count + 1 : count;
      const found = await eventsOf(
        client.readAll({ fromPosition, maxCount, requiresLeader: true }),
      );
      return (found ?? []).filter(({ position }) => position?.prepare !== after?.position?.prepare);
    },
    /**
     * Returns where a stream ends, as the conflict of an append that no stream can store. A read does not tell this of
     * events that retention removed, nor whether the user may append.
     *
     * @throws ArchiveUnavailable
     */
    probe: (stream: string): Promise<AppendOutcome> =>
      appendOnce(stream, BigInt(Number.MAX_SAFE_INTEGER), [
        { id: randomUUID(), type: 'linklog.Probe', data: {}, metadata: {} },
      ]),
    /** @throws ArchiveUnavailable */
    async metadata(stream: string): Promise<StreamMetadata> {
      const [newest] = (await read(`$$${stream}`, 'end', 1)) ?? [];
      return newest?.data ?? {};
    },
    close: () => client.dispose(),
  };
};

export type ArchiveStore = ReturnType<typeof openArchiveStore>;
