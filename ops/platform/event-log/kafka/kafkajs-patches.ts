/**
 * kafkajs (2.2.4) is no longer maintained, and has faults that a long-lived service cannot live with.
 * This file patches its classes. Where a class is not as expected, `patchKafkajs` throws.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

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

/** An answer is received in chunks: first its size, in four bytes. */
interface Connection {
  readonly socket?: Socket;
  readonly isConnected: () => boolean;
  chunks: readonly Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
}

/** A client's view of one broker. */
interface Broker {
  /** The versions of requests that it takes; `null` until it has answered. */
  readonly versions: object | null;
}

/** The records of one partition in a fetch. */
interface FetchedBatch {
  readonly isEmpty: () => boolean;
}

/** A consumer's membership in its group; the time in milliseconds. */
interface ConsumerGroup {
  maxWaitTime: number;
}

interface Class<Instance, Method extends string, Result, Args extends unknown[] = []> {
  readonly prototype: Instance & Partial<Record<Method, (this: Instance, ...args: Args) => Result>>;
}

const load = createRequire(import.meta.url);
const patched = Symbol.for('linklog.kafkajs-patches');
const sizeBytes = 4;

const replace = <Instance, Method extends string, Result, Args extends unknown[]>(
  { prototype }: Class<Instance, Method, Result, Args>,
  method: Method,
  wrap: (
    original: (this: Instance, ...args: Args) => Result,
  ) => (this: Instance, ...args: Args) => Result,
): void => {
  const original = prototype[method] as ((this: Instance, ...args: Args) => Result) | undefined;
  if (original === undefined) throw new Error(`kafkajs has no ${method} where it had one`);
  Object.defineProperty(prototype, method, { value: wrap(original) });
};

/**
 * kafkajs checks for pending requests once a millisecond on every open connection, also where none are
 * pending: some 4 % of a core for an idle connection. Each request that must wait schedules a check
 * itself, so none is needed without pending requests.
 */
const calmIdleConnections = (): void => {
  const queue = load('kafkajs/src/network/requestQueue/index.js') as Class<
    RequestQueue,
    'scheduleCheckPendingRequests',
    void
  >;
  replace(queue, 'scheduleCheckPendingRequests', (schedule) => {
    return function scheduleWhilePending() {
      if (this.pending.length > 0) schedule.call(this);
    };
  });
};

/**
 * kafkajs checks for late requests ten times a second on every open connection, and a projector has
 * eleven. One check at the moment when the first request can be late is enough.
 */
const lookForLateRequestsInTime = (): void => {
  const file = load('kafkajs/src/network/requestQueue/index.js') as unknown;
  const looks = new WeakMap<
    RequestQueue,
    { readonly at: number; readonly timer: NodeJS.Timeout }
  >();

  const lookAt = (queue: RequestQueue, at: number): void => {
    const timer = setTimeout(() => {
      looks.delete(queue);
      const now = Date.now();
      // Requests of a lost connection were rejected, and are not listed here.
      for (const request of [...queue.inflight.values()]) {
        if (now >= request.sentAt + request.requestTimeout) request.timeoutRequest();
      }
      lookInTime(queue);
    }, at - Date.now());
    // Only the connection is to keep the process alive.
    looks.set(queue, { at, timer: timer.unref() });
  };

  const lookInTime = (queue: RequestQueue): void => {
    let soonest = Infinity;
    for (const { sentAt, requestTimeout } of queue.inflight.values()) {
      soonest = Math.min(soonest, sentAt + requestTimeout);
    }
    const planned = looks.get(queue);
    if (soonest >= (planned?.at ?? Infinity)) return;
    clearTimeout(planned?.timer);
    lookAt(queue, soonest);
  };

  replace(
    file as Class<RequestQueue, 'scheduleRequestTimeoutCheck', void>,
    'scheduleRequestTimeoutCheck',
    () => () => undefined,
  );
  replace(
    file as Class<RequestQueue, 'sendSocketRequest', void, [SocketRequest]>,
    'sendSocketRequest',
    (send) => {
      return function sendAndLookInTime(request) {
        send.call(this, request);
        if (this.enforceRequestTimeout) lookInTime(this);
      };
    },
  );
};

/**
 * A connection that is lost within an answer keeps the beginning of that answer. It takes the first
 * bytes of the next connection, or late bytes of the old socket, for the rest: from then on it reads
 * nonsense, and throws where nobody can catch it.
 */
const forgetLostAnswers = (): void => {
  const connection = load('kafkajs/src/network/connection.js') as Class<
    Connection,
    'connect',
    Promise<boolean>
  >;
  replace(connection, 'connect', (connect) => {
    return function connectAfresh() {
      if (!this.isConnected()) {
        this.socket?.removeAllListeners('data').destroy();
        this.chunks = [];
        this.bytesBuffered = 0;
        this.bytesNeeded = sizeBytes;
      }
      return connect.call(this);
    };
  });
};

/**
 * A broker that accepts the connection and does not answer which versions it takes (it is stopped, or
 * hangs) counts as connected from the second try on. It is never asked again, and every request fails
 * with "Broker not connected" for as long as the client lives.
 */
const askUntilAnswered = (): void => {
  const broker = load('kafkajs/src/broker/index.js') as Class<Broker, 'isConnected', boolean>;
  replace(broker, 'isConnected', (isConnected) => {
    return function isConnectedAndKnown() {
      return this.versions !== null && isConnected.call(this);
    };
  });
};

/** After so many fetches without a record, the topics are quiet. */
const quietFetches = 10;
/** Between fetches only, a member sends heartbeats: with a longer wait, its group would drop it. */
const quietFactor = 2.5;

/**
 * kafkajs fetches as often from quiet topics as from busy ones, which was half of an idle projector's
 * CPU. A record ends a fetch at once, however long the fetch may wait. Only a resumed partition, a new
 * member and the end wait for the next fetch. So the wait grows where nothing happens.
 */
const waitLongerWhileQuiet = (): void => {
  const group = load('kafkajs/src/consumer/consumerGroup.js') as Class<
    ConsumerGroup,
    'fetch',
    Promise<readonly FetchedBatch[]>,
    [nodeId: number]
  >;
  const calms = new WeakMap<ConsumerGroup, { readonly usualWait: number; inVain: number }>();
  replace(group, 'fetch', (fetch) => {
    return async function fetchCalmly(nodeId) {
      const calm = calms.get(this) ?? { usualWait: this.maxWaitTime, inVain: 0 };
      calms.set(this, calm);
      this.maxWaitTime = calm.usualWait * (calm.inVain < quietFetches ? 1 : quietFactor);
      const batches = await fetch.call(this, nodeId);
      calm.inVain = batches.every((batch) => batch.isEmpty()) ? calm.inVain + 1 : 0;
      return batches;
    };
  });
};

/** Patches kafkajs in this process, once. */
export const patchKafkajs = (): void => {
  if (patched in globalThis) return;
  calmIdleConnections();
  lookForLateRequestsInTime();
  forgetLostAnswers();
  askUntilAnswered();
  waitLongerWhileQuiet();
  Object.defineProperty(globalThis, patched, { value: true });
};
