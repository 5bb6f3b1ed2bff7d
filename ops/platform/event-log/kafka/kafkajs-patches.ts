/**
 * kafkajs (2.2.4) is no longer maintained, and has faults that a long-lived service cannot live
 * with. They are mended in its own classes, here and nowhere else; where it is not built as it was
 * when that was measured, nothing is mended blindly: `patchKafkajs` throws.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

/** A request that waits for its answer; times in milliseconds, `sentAt` of `Date.now()`. */
interface SocketRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

/** Each connection has one: what waits to be sent, and what waits for its answer. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SocketRequest>;
  readonly enforceRequestTimeout: boolean;
}

/** What was received on the way to a whole answer: its size first, in four bytes. */
interface Connection {
  readonly socket?: Socket;
  readonly isConnected: () => boolean;
  chunks: readonly Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
}

/** What a client knows of one broker. */
interface Broker {
  /** Which requests it takes; known once it has answered. */
  readonly versions: object | null;
}

/** What a fetch brought of one partition. */
interface FetchedBatch {
  readonly isEmpty: () => boolean;
}

/** A consumer's membership, by which it fetches; the time in milliseconds. */
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
 * It looks for pending requests once a millisecond on every open connection, also where none are
 * pending: some 4 % of a core for a connection that does nothing. With nothing pending there is
 * nothing to look for: each request that must wait asks for a look of its own.
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
 * It looks for late requests ten times a second on every open connection, and a projector has eleven.
 * One look at the moment when the first of them can be late sees as much, and sooner.
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
      // Those of a lost connection have been rejected, and stand here no more.
      for (const request of [...queue.inflight.values()]) {
        if (now >= request.sentAt + request.requestTimeout) request.timeoutRequest();
      }
      lookInTime(queue);
    }, at - Date.now());
    // The connection keeps the process alive, not the look at it.
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
 * A connection that was lost within an answer keeps the answer's beginning, and takes the first
 * bytes of the next connection for the rest of it, or what still comes on the old socket for its
 * own: it reads nonsense from then on, and throws where nobody can catch it.
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
 * A broker that takes the connection and then does not answer which requests it takes (it is stopped, or
 * hangs) counts as connected from the second try on, is never asked again, and can be sent nothing: for
 * as long as the client lives, "Broker not connected".
 */
const askUntilAnswered = (): void => {
  const broker = load('kafkajs/src/broker/index.js') as Class<Broker, 'isConnected', boolean>;
  replace(broker, 'isConnected', (isConnected) => {
    return function isConnectedAndKnown() {
      return this.versions !== null && isConnected.call(this);
    };
  });
};

/** So many fetches without a record: the topics are quiet. */
const quietFetches = 10;
/** A member is heard of only between its fetches: much longer, and its group takes it for gone. */
const quietFactor = 2.5;

/**
 * It asks for records as often where none come as where they come all the time, which was half of
 * what an idle projector took. A record ends a fetch at once however long that may wait; only what
 * needs a new fetch waits for it: a partition that is resumed, another member, the end. So the wait
 * is as long as it was told to, and longer once nothing happens.
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

/** Mends kafkajs in this process, once. */
export const patchKafkajs = (): void => {
  if (patched in globalThis) return;
  calmIdleConnections();
  lookForLateRequestsInTime();
  forgetLostAnswers();
  askUntilAnswered();
  waitLongerWhileQuiet();
  Object.defineProperty(globalThis, patched, { value: true });
};
