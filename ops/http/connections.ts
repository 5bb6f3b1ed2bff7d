import type { ServerResponse, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { EventLoopQueue } from '../platform/concurrency/periodic.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import { addressOf, networkOf, type ProxyTrust } from './client-address.js';

/** How long a client may send nothing (ms). */
const stallMs = 30_000;

/** The longest time to receive a body (ms). */
const longestMs = 30 * 60_000;

const receiving = new WeakMap<Socket, IncomingMessage>();

/** Whether a connection receives a body that may take longer than the listener's time limit. */
export const hasSlowBody = (socket: Socket): boolean => receiving.get(socket)?.complete === false;

/**
 * Receives a body for longer than the listener's time limit: up to 30 minutes, as long as the client sends something every
 * 30 s.
 */
export const withSlowBody = async <Result>(
  request: IncomingMessage,
  receive: () => Promise<Result>,
): Promise<Result> => {
  const { socket } = request;
  receiving.set(socket, request);
  socket.setTimeout(stallMs);
  const timer = setTimeout(() => socket.destroy(), longestMs).unref();
  try {
    return await receive();
  } finally {
    clearTimeout(timer);
    socket.setTimeout(0);
    receiving.delete(socket);
  }
};

/** The limit of each listener. */
export const maxConnections = 10_000;

/** How long the writes of a connection may make no progress (ms). */
const stalledMs = 10_000;

/** The limits of connections with another one than `stalledMs`. */
const stallLimits = new WeakMap<Socket, number>();

/**
 * Lets a response make no write progress for a longer time (ms). Linux accepts more bytes only when a third of the send
 * buffer is free, which a slow client takes long for.
 */
export const allowStall = (res: ServerResponse, ms: number): void => {
  const { socket } = res;
  if (!socket) return;
  stallLimits.set(socket, ms);
  res.once('close', () => {
    stallLimits.delete(socket);
  });
};

/** The pending writes of a connection. They make progress if `written` or `queued` changes. */
interface Pending {
  /** Bytes of completed writes. */
  readonly written: number;
  /** Bytes of the current write that the kernel has not accepted. */
  readonly queued: number;
  /** When both were first observed (ms). */
  readonly since: number;
}

/** The size of libuv's write queue, which `net` does not expose. */
const queuedBytes = (socket: Socket): number =>
  (socket as Socket & { readonly _handle?: { readonly writeQueueSize: number } | null })._handle
    ?.writeQueueSize ?? 0;

/**
 * The open connections of a listener. A client (see `networkOf`) may open another one if it has fewer connections than
 * are free: a single client gets at most half of them. Trusted proxies are exempt, because they serve many clients.
 */
export class OpenConnections {
  /** Connections closed on arrival, because of the limit. */
  refused = 0;
  readonly #sockets = new Set<Socket>();
  readonly #counts = new Map<string, number>();
  readonly #pending = new WeakMap<Socket, Pending>();
  readonly #stalled = new EventLoopQueue();

  constructor(private readonly isTrusted: ProxyTrust) {}

  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  /** Closes the connection if it exceeds the limit. @returns whether it is accepted */
  add(socket: Socket): boolean {
    const address = addressOf(socket);
    const client = networkOf(address);
    const count = this.#counts.get(client) ?? 0;
    if (count >= maxConnections - this.#sockets.size && !this.isTrusted(address)) {
      this.refused += 1;
      socket.destroy();
      return false;
    }
    this.#sockets.add(socket);
    this.#counts.set(client, count + 1);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      const remaining = (this.#counts.get(client) ?? 0) - 1;
      if (remaining > 0) this.#counts.set(client, remaining);
      else this.#counts.delete(client);
    });
    return true;
  }

  /** Closes connections without write progress for 10 s, or their own limit. @param now of a monotonic clock (ms) */
  endStalled(now: number): void {
    for (const socket of this.#sockets) {
      if (socket.writableLength === 0) {
        this.#pending.delete(socket);
        continue;
      }
      const written = socket.bytesWritten - socket.writableLength;
      const queued = queuedBytes(socket);
      const before = this.#pending.get(socket);
      if (before?.written !== written || before.queued !== queued) {
        this.#pending.set(socket, { written, queued, since: now });
      } else if (now - before.since >= (stallLimits.get(socket) ?? stalledMs)) {
        this.#stalled.add(() => {
          socket.destroy();
        });
      }
    }
  }
}

export const exposeConnections = (
  metrics: Metrics,
  listeners: Readonly<Record<string, { readonly connections: OpenConnections }>>,
): void => {
  const perListener = (count: (connections: OpenConnections) => number) => ({
    labels: ['listener'],
    read: () =>
      Object.entries(listeners).map(
        ([listener, { connections }]) => [{ listener }, count(connections)] as const,
      ),
  });
  metrics.gauge({
    name: 'linklog_http_connections',
    help: 'Open connections',
    ...perListener(({ sockets }) => sockets.size),
  });
  metrics.counter({
    name: 'linklog_http_connections_refused_total',
    help: 'Connections closed on arrival, because too few were free',
    ...perListener(({ refused }) => refused),
  });
};
