/**
 * Patches for kafkajs (2.2.4), which is not maintained any more. `patchKafkajs` throws if a class is not as expected.
 *
 * The calls that we use, and the behaviour of their retries while the leader of a partition moves:
 *
 * - `producer.sendBatch`: `producer/sendMessages.js` keeps `responsePerBroker` across its retries. A partition that
 *   moves to a broker that has already responded is never sent, and the call resolves (upstream PR 1798). So
 *   `producer.ts` allows no retries. After a protocol or connection error, the metadata is refreshed, so the next request
 *   goes to the new leader. After a timeout, it is not refreshed. Partitions that the
 *   metadata does not list are skipped.
 * - Fetches of `consumer.run` compute leader and offset for each retry. Two fetchers can return the same records while a
 *   leader moves. `subscription.ts` and `partition-reader.ts` accept a batch only at the expected offset. After 5 timeouts,
 *   the member ends, and the next one has new metadata.
 * - `partition-reader.ts` uses the cluster of a client itself, and another one after a failure: see `connections.ts`.
 * - `consumer.seek` is local and applies to the next fetch.
 * - Join and sync of a group are repeated together.
 * - Offsets are not committed, so a fetch starts at the default offset: see fetches.
 * - `admin.fetchTopicOffsets` queries all leaders concurrently. One failure rejects the call, and `connections.ts` retries on a
 *   new connection. Concurrent calls share a refresh of the metadata, which may have started before the topic of a call was
 *   added: `requireTopicMetadata`. Partitions that the metadata does not list are omitted: `kafka-log.ts` counts them. A leader that was
 *   suspended can return an outdated end until it knows its successor.
 * - Any broker serves `admin.listTopics`, `describeCluster` and `fetchTopicMetadata`, and the errors of all brokers are
 *   discarded: `keepErrorsOfBrokers`.
 * - `admin.createTopics` and `describeConfigs` are repeated after `NOT_CONTROLLER`. `topics.ts` checks every topic
 *   afterwards.
 * - `admin.deleteGroups` returns the results of its last attempt only. We do not use them.
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
  if (original === undefined) throw new Error(`kafkajs/src/${file}.js has no method ${method}`);
  Object.defineProperty(prototype, method, { value: wrap(original) });
};

/** A request in flight; `sentAt` of `Date.now()`. */
interface SocketRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SocketRequest>;
  readonly enforceRequestTimeout: boolean;
}

const requestQueue = 'network/requestQueue/index';

/**
 * kafkajs checks for pending requests every millisecond, which takes 4 % of a core for an idle connection. Each request that
 * must wait schedules a check, so none is needed without pending requests.
 */
const stopIdlePolling = (): void => {
  replace(
    requestQueue,
    'scheduleCheckPendingRequests',
    (schedule: Method<RequestQueue, void>) =>
      function scheduleWhilePending() {
        if (this.pending.length > 0) schedule.call(this);
      },
  );
};

const connections = new WeakMap<RequestQueue, Connection>();

/**
 * kafkajs checks for late requests ten times a second on each connection, and a projector has eleven. One check when the
 * first request can be late is enough.
 *
 * kafkajs also keeps a connection whose requests time out, and sends each retry on it. After lost bytes or the silent
 * end of a broker, it would never get a response, so the connection is closed.
 */
const timeOutRequests = (): void => {
  const checks = new WeakMap<
    RequestQueue,
    { readonly at: number; readonly timer: NodeJS.Timeout }
  >();

  const scheduleCheck = (queue: RequestQueue): void => {
    let soonest = Infinity;
    for (const { sentAt, requestTimeout } of queue.inflight.values()) {
      soonest = Math.min(soonest, sentAt + requestTimeout);
    }
    const planned = checks.get(queue);
    if (soonest >= (planned?.at ?? Infinity)) return;
    clearTimeout(planned?.timer);
    const check = (): void => {
      checks.delete(queue);
      const now = Date.now();
      // Requests of a lost connection were rejected, and are not listed here.
      const late = [...queue.inflight.values()].filter(
        ({ sentAt, requestTimeout }) => now >= sentAt + requestTimeout,
      );
      for (const request of late) request.timeoutRequest();
      if (late.length > 0) {
        connections.get(queue)?.socket?.destroy(new Error('a request timed out'));
      }
      scheduleCheck(queue);
    };
    // If this process was busy or suspended, it reads a response that has arrived first.
    // Node.js warns about a negative delay.
    const delay = Math.max(0, soonest - Date.now());
    const timer = setTimeout(() => setImmediate(check), delay);
    checks.set(queue, { at: soonest, timer: timer.unref() });
  };

  replace(requestQueue, 'scheduleRequestTimeoutCheck', () => () => undefined);
  replace(
    requestQueue,
    'sendSocketRequest',
    (send: Method<RequestQueue, void, [SocketRequest]>) =>
      function sendAndScheduleCheck(request) {
        send.call(this, request);
        if (this.enforceRequestTimeout) scheduleCheck(this);
      },
  );
};

/** A response is received in chunks, after its size in four bytes. */
interface Connection {
  readonly socket?: Socket;
  readonly requestQueue: RequestQueue;
  readonly isConnected: () => boolean;
  chunks: readonly Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
}

/**
 * A connection that is lost during a response keeps its first bytes, and continues it with those of the next connection,
 * so that all responses are corrupt and throw uncaught errors.
 */
const resetBuffers = (): void => {
  replace(
    'network/connection',
    'connect',
    (connect: Method<Connection, Promise<boolean>>) =>
      function connectAndReset() {
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
 * A broker that accepts the connection and does not respond to the request for its API versions counts as connected from
 * the second attempt on. The request is never sent again, and all others fail with "Broker not connected".
 */
const requireApiVersions = (): void => {
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
  readonly KafkaJSTopicMetadataNotLoaded: new (message: string, details: object) => Error;
}

/**
 * kafkajs repeats the request for the API versions on the same bootstrap broker if that accepts connections and does not
 * respond. Only a failed connection makes it try the next address, so a timeout counts as a failed connection.
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

type BrokerCall = (target: object) => Promise<unknown>;

/**
 * kafkajs sends a request that any broker may serve to one after the other, discards their errors, and returns null:
 * `listTopics` then throws a TypeError, and a missing ACL is reported as a missing coordinator. Throws the last error.
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

/** LEADER_NOT_AVAILABLE in Kafka's protocol. */
const leaderNotAvailable = 5;
/** Maximum age of metadata that lacks a leader (ms). */
const missingLeaderMs = 500;

interface ClusterMetadata {
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly { partitionErrorCode: number }[];
  }[];
}

interface Exchange {
  readonly request: { readonly apiName: string };
  readonly response: { readonly parse: (decoded: ClusterMetadata) => Promise<ClusterMetadata> };
}

interface BrokerPool {
  readonly metadata: ClusterMetadata | null;
  metadataExpireAt: number | null;
}

/**
 * While one partition has no leader, kafkajs rejects the metadata of all topics, so that no partition can be read or
 * written. Here the metadata is accepted without that leader (-1), and expires soon.
 */
const acceptMissingLeaders = (): void => {
  const lacking = new WeakSet<ClusterMetadata>();
  replace(
    'network/connection',
    'send',
    (send: Method<Connection, Promise<unknown>, [Exchange]>) =>
      function sendAndAccept(exchange) {
        const { request, response } = exchange;
        if (request.apiName !== 'Metadata') return send.call(this, exchange);
        const parse = (decoded: ClusterMetadata): Promise<ClusterMetadata> => {
          for (const partition of decoded.topicMetadata.flatMap(
            (topic) => topic.partitionMetadata,
          )) {
            if (partition.partitionErrorCode !== leaderNotAvailable) continue;
            partition.partitionErrorCode = 0;
            lacking.add(decoded);
          }
          return response.parse(decoded);
        };
        return send.call(this, { ...exchange, response: { ...response, parse } });
      },
  );
  replace(
    'cluster/brokerPool',
    'refreshMetadata',
    (refresh: Method<BrokerPool, Promise<void>, [readonly string[]]>) =>
      async function refreshAndExpire(topics) {
        await refresh.call(this, topics);
        if (this.metadata && lacking.has(this.metadata)) {
          this.metadataExpireAt = Date.now() + missingLeaderMs;
        }
      },
  );
};

interface Cluster {
  readonly findTopicPartitionMetadata: (topic: string) => readonly unknown[];
}

/**
 * If the metadata does not list a topic, kafkajs queries the offsets of none of its partitions, and
 * `admin.fetchTopicOffsets` throws `TypeError: Cannot destructure property 'partitions' of 'high.pop(...)'`. Throws a
 * retriable error instead.
 */
const requireTopicMetadata = (): void => {
  const { KafkaJSTopicMetadataNotLoaded } = load('kafkajs/src/errors.js') as KafkaErrors;
  replace(
    'cluster/index',
    'fetchTopicsOffset',
    (fetchOffsets: Method<Cluster, Promise<unknown>, [readonly { readonly topic: string }[]]>) =>
      async function fetchOffsetsOfKnownTopics(topics) {
        for (const { topic } of topics) {
          if (this.findTopicPartitionMetadata(topic).length > 0) continue;
          throw new KafkaJSTopicMetadataNotLoaded('the metadata does not list the topic', {
            topic,
          });
        }
        return fetchOffsets.call(this, topics);
      },
  );
};

/** Fetches without a record after which the topics are quiet. */
const quietFetches = 10;
/** Bounded, because a member sends heartbeats only between fetches, and its group would remove it. */
const quietFactor = 2.5;

interface ConsumerGroup {
  maxWaitTime: number;
}

interface FetchedBatch {
  readonly isEmpty: () => boolean;
}

/**
 * Fetches from quiet topics wait longer, because they took half of the CPU time of an idle projector. A new record ends a
 * fetch immediately; only a resumed partition, a new member and `disconnect` wait for it.
 */
const waitLongerWhileQuiet = (): void => {
  const states = new WeakMap<ConsumerGroup, { readonly usualWait: number; empty: number }>();
  replace(
    'consumer/consumerGroup',
    'fetch',
    (fetch: Method<ConsumerGroup, Promise<readonly FetchedBatch[]>, [nodeId: number]>) =>
      async function fetchAndWait(nodeId) {
        const state = states.get(this) ?? { usualWait: this.maxWaitTime, empty: 0 };
        states.set(this, state);
        this.maxWaitTime = state.usualWait * (state.empty < quietFetches ? 1 : quietFactor);
        const batches = await fetch.call(this, nodeId);
        state.empty = batches.every((batch) => batch.isEmpty()) ? state.empty + 1 : 0;
        return batches;
      },
  );
};

/** Patches kafkajs in this thread, once. */
export const patchKafkajs = (): void => {
  if (patched in globalThis) return;
  stopIdlePolling();
  timeOutRequests();
  resetBuffers();
  requireApiVersions();
  rotateSilentSeeds();
  keepErrorsOfBrokers();
  acceptMissingLeaders();
  requireTopicMetadata();
  waitLongerWhileQuiet();
  sendReadyBatches();
  Object.defineProperty(globalThis, patched, { value: true });
};
