/**
 * kafkajs (2.2.4) is no longer maintained, and has faults that a long-lived service cannot live with.
 * This file patches its classes. Where a class is not as expected, `patchKafkajs` throws.
 *
 * Calls of kafkajs that we use: what its retries do while the leader of a partition moves, and what protects us.
 *
 * - `producer.sendBatch`: `producer/sendMessages.js` keeps `responsePerBroker` across its retries. A partition that
 *   moves to a broker that has already answered is never sent, and the call resolves (upstream PR 1798). So
 *   `producer.ts` allows no retries. Before a failure of the protocol or of a connection is thrown, the metadata is
 *   refreshed: the next request goes to the new leader. After a timeout it is not refreshed. Partitions that the
 *   metadata does not list are skipped.
 * - Fetches of `consumer.run` keep nothing across retries: leader and offset are computed for each. Two
 *   fetchers can return the same records while a leader moves. `subscription.ts` and `partition-reader.ts`
 *   accept a batch only at the due offset. After 5 timeouts the member ends, and the next one has new metadata.
 * - `consumer.seek` is local, and holds for the next fetch, from whichever broker.
 * - Join and sync of a group are repeated together. The assignment is that of the last sync.
 * - Commits of offsets are not used. Without one, a fetch begins at the default offset: see fetches.
 * - `admin.fetchTopicOffsets` asks all leaders at once. Each answer names its partitions, and one failure rejects
 *   the call, so results are not mixed up: `admin.ts` retries on a new connection. Partitions that the
 *   metadata does not list are left out: `kafka-log.ts` counts them. A leader that was paused can, for the moment
 *   until it knows its successor, give an end that is too low.
 * - `admin.listTopics`, `describeCluster` and `fetchTopicMetadata` are answered by any broker, and the errors of
 *   all brokers are discarded: `keepErrorsOfBrokers`.
 * - `admin.createTopics` and `describeConfigs` are repeated as a whole after `NOT_CONTROLLER`. `topics.ts` checks
 *   every topic afterwards.
 * - `admin.deleteGroups` returns the results of its last try alone. We do not use them.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { sendReadyBatches } from './record-batch.js';

type Method<Instance, Result, Args extends unknown[] = []> = (
  this: Instance,
  ...args: Args
) => Result;

const load = createRequire(import.meta.url);
const patched = Symbol.for('linklog.kafkajs-patches');

/** Replaces a method of the class in a file of kafkajs. */
const replace = <Instance, Result, Args extends unknown[]>(
  file: string,
  method: string,
  wrap: (original: Method<Instance, Result, Args>) => Method<Instance, Result, Args>,
): void => {
  const { prototype } = load(`kafkajs/src/${file}.js`) as {
    readonly prototype: Readonly<Record<string, Method<Instance, Result, Args> | undefined>>;
  };
  const original = prototype[method];
  if (original === undefined) throw new Error(`kafkajs has no ${method} where it had one`);
  Object.defineProperty(prototype, method, { value: wrap(original) });
};

/** A request that waits for its answer; times in milliseconds, `sentAt` of `Date.now()`. */
interface SocketRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

/** Of a connection: the requests that wait to be sent, and those that wait for their answers. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SocketRequest>;
  readonly enforceRequestTimeout: boolean;
}

const requestQueue = 'network/requestQueue/index';

/**
 * kafkajs checks for pending requests once a millisecond on every open connection, also where none are
 * pending: some 4 % of a core for an idle connection. Each request that must wait schedules a check
 * itself, so none is needed without pending requests.
 */
const calmIdleConnections = (): void => {
  replace(
    requestQueue,
    'scheduleCheckPendingRequests',
    (schedule: Method<RequestQueue, void>) =>
      function scheduleWhilePending() {
        if (this.pending.length > 0) schedule.call(this);
      },
  );
};

/** Of each queue, the connection that it sends on. */
const connections = new WeakMap<RequestQueue, Connection>();

/**
 * kafkajs checks for late requests ten times a second on every open connection, and a projector has
 * eleven. One check at the moment when the first request can be late is enough.
 *
 * It also keeps a connection whose requests get no answer, and sends each retry on it. A network that has
 * lost bytes, or a broker that is gone without a word, would never answer there again: the next request gets a
 * new connection.
 */
const giveUpLateRequestsInTime = (): void => {
  const looks = new WeakMap<
    RequestQueue,
    { readonly at: number; readonly timer: NodeJS.Timeout }
  >();

  const lookInTime = (queue: RequestQueue): void => {
    let soonest = Infinity;
    for (const { sentAt, requestTimeout } of queue.inflight.values()) {
      soonest = Math.min(soonest, sentAt + requestTimeout);
    }
    const planned = looks.get(queue);
    if (soonest >= (planned?.at ?? Infinity)) return;
    clearTimeout(planned?.timer);
    const look = (): void => {
      looks.delete(queue);
      const now = Date.now();
      // Requests of a lost connection were rejected, and are not listed here.
      const late = [...queue.inflight.values()].filter(
        ({ sentAt, requestTimeout }) => now >= sentAt + requestTimeout,
      );
      for (const request of late) request.timeoutRequest();
      if (late.length > 0) {
        connections.get(queue)?.socket?.destroy(new Error('a request was not answered in time'));
      }
      lookInTime(queue);
    };
    // This process may have been busy or stopped itself: an answer that has come is read before.
    const timer = setTimeout(() => setImmediate(look), soonest - Date.now());
    // Only the connection is to keep the process alive.
    looks.set(queue, { at: soonest, timer: timer.unref() });
  };

  replace(requestQueue, 'scheduleRequestTimeoutCheck', () => () => undefined);
  replace(
    requestQueue,
    'sendSocketRequest',
    (send: Method<RequestQueue, void, [SocketRequest]>) =>
      function sendAndLookInTime(request) {
        send.call(this, request);
        if (this.enforceRequestTimeout) lookInTime(this);
      },
  );
};

/** An answer is received in chunks: first its size, in four bytes. */
interface Connection {
  readonly socket?: Socket;
  readonly requestQueue: RequestQueue;
  readonly isConnected: () => boolean;
  chunks: readonly Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
}

/**
 * A connection that is lost within an answer keeps the beginning of that answer. It takes the first
 * bytes of the next connection, or late bytes of the old socket, for the rest: from then on it reads
 * nonsense, and throws where nobody can catch it.
 */
const forgetLostAnswers = (): void => {
  replace(
    'network/connection',
    'connect',
    (connect: Method<Connection, Promise<boolean>>) =>
      function connectAfresh() {
        connections.set(this.requestQueue, this);
        if (!this.isConnected()) {
          this.socket?.removeAllListeners('data').destroy();
          this.chunks = [];
          this.bytesBuffered = 0;
          this.bytesNeeded = 4;
        }
        return connect.call(this);
      },
  );
};

/**
 * A broker that accepts the connection and does not answer which versions it takes (it is stopped, or
 * hangs) counts as connected from the second try on. It is never asked again, and every request fails
 * with "Broker not connected" for as long as the client lives.
 */
const askUntilAnswered = (): void => {
  replace(
    'broker/index',
    'isConnected',
    (isConnected: Method<{ readonly versions: object | null }, boolean>) =>
      function isConnectedAndKnown() {
        return this.versions !== null && isConnected.call(this);
      },
  );
};

interface KafkaErrors {
  readonly KafkaJSConnectionError: new (message: string, details: object) => Error;
}

/**
 * The first request on a new connection asks for the API versions. kafkajs repeats it on the same bootstrap
 * broker as long as that broker accepts connections and does not respond; only a failed connection makes it
 * try the next address. So no response counts as a failed connection.
 */
const rotateSilentSeeds = (): void => {
  const { KafkaJSConnectionError } = load('kafkajs/src/errors.js') as KafkaErrors;
  replace(
    'broker/index',
    'apiVersions',
    (apiVersions: Method<{ readonly brokerAddress: string }, Promise<object>>) =>
      async function apiVersionsOrNoConnection() {
        try {
          return await apiVersions.call(this);
        } catch (error) {
          const { name, message } = error as Error;
          if (name !== 'KafkaJSRequestTimeoutError') throw error;
          const details = { broker: this.brokerAddress, code: 'ETIMEDOUT' };
          throw new KafkaJSConnectionError(message, details);
        }
      },
  );
};

/** A request that any broker may answer. */
type BrokerCall = (target: object) => Promise<unknown>;

/**
 * kafkajs sends a request that any broker may answer (metadata, the coordinator of a group) to one after the
 * other, discards their errors, and returns null: `listTopics` then throws a TypeError, and a missing ACL is
 * reported as a missing coordinator. The last error is the cause.
 */
const keepErrorsOfBrokers = (): void => {
  replace(
    'cluster/brokerPool',
    'withBroker',
    (withBroker: Method<object, Promise<unknown>, [BrokerCall]>) =>
      async function withBrokerOrCause(call) {
        let cause: Error | undefined;
        const result = await withBroker.call(this, async (target) => {
          try {
            return await call(target);
          } catch (error) {
            cause = error as Error;
            throw error;
          }
        });
        if (result === null && cause) throw cause;
        return result;
      },
  );
};

/** After so many fetches without a record, the topics are quiet. */
const quietFetches = 10;
/** Between fetches only, a member sends heartbeats: with a longer wait, its group would drop it. */
const quietFactor = 2.5;

/** A consumer's membership in its group; the time in milliseconds. */
interface ConsumerGroup {
  maxWaitTime: number;
}

/** The records of one partition in a fetch. */
interface FetchedBatch {
  readonly isEmpty: () => boolean;
}

/**
 * kafkajs fetches as often from quiet topics as from busy ones, which was half of an idle projector's
 * CPU. A record ends a fetch at once, however long the fetch may wait. Only a resumed partition, a new
 * member and the end wait for the next fetch. So the wait grows where nothing happens.
 */
const waitLongerWhileQuiet = (): void => {
  const calms = new WeakMap<ConsumerGroup, { readonly usualWait: number; inVain: number }>();
  replace(
    'consumer/consumerGroup',
    'fetch',
    (fetch: Method<ConsumerGroup, Promise<readonly FetchedBatch[]>, [nodeId: number]>) =>
      async function fetchCalmly(nodeId) {
        const calm = calms.get(this) ?? { usualWait: this.maxWaitTime, inVain: 0 };
        calms.set(this, calm);
        this.maxWaitTime = calm.usualWait * (calm.inVain < quietFetches ? 1 : quietFactor);
        const batches = await fetch.call(this, nodeId);
        calm.inVain = batches.every((batch) => batch.isEmpty()) ? calm.inVain + 1 : 0;
        return batches;
      },
  );
};

/** Patches kafkajs in this thread, once. */
export const patchKafkajs = (): void => {
  if (patched in globalThis) return;
  calmIdleConnections();
  giveUpLateRequestsInTime();
  forgetLostAnswers();
  askUntilAnswered();
  rotateSilentSeeds();
  keepErrorsOfBrokers();
  waitLongerWhileQuiet();
  sendReadyBatches();
  Object.defineProperty(globalThis, patched, { value: true });
};
