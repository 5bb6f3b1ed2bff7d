import type { Socket } from 'node:net';
import { EventLoopQueue } from '../platform/concurrency/event-loop-queue.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import { addressOf, networkOf, type ProxyTrust } from './client-address.js';

/** Of each listener. */
export const maxConnections = 10_000;

/** Milliseconds that the writes of a connection may make no progress. */
const stalledMs = 10_000;

/** What a connection has to write. It makes progress if one of the first two numbers changes. */
interface Pending {
  /** Bytes of the writes that ended. */
  readonly written: number;
  /** Bytes of the current write that the kernel has not taken. */
  readonly queued: number;
  /** When both were seen first, in ms. */
  readonly since: number;
}

/** The size of libuv's write queue, which only `net` itself reads otherwise. */
const queuedBytes = (socket: Socket): number =>
  (socket as Socket & { readonly _handle?: { readonly writeQueueSize: number } | null })._handle
    ?.writeQueueSize ?? 0;

/**
 * The open connections of a listener. A client (an IPv4 address, or an IPv6 /64) may open one more while it
 * has fewer than are free: alone it gets half of all, and others always find room. A trusted proxy stands
 * for many clients, and may have them all.
 */
export class OpenConnections {
  /** Connections closed at once, for want of room. */
  refused = 0;
  readonly #sockets = new Set<Socket>();
  readonly #heldBy = new Map<string, number>();
  readonly #pending = new WeakMap<Socket, Pending>();
  readonly #stalled = new EventLoopQueue();

  constructor(private readonly isTrusted: ProxyTrust) {}

  get sockets(): ReadonlySet<Socket> {
    return this.#sockets;
  }

  /** Closes the connection if there is no room for it. @returns whether there was */
  add(socket: Socket): boolean {
    const address = addressOf(socket);
    const client = networkOf(address);
    const held = this.#heldBy.get(client) ?? 0;
    if (held >= maxConnections - this.#sockets.size && !this.isTrusted(address)) {
      this.refused += 1;
      socket.destroy();
      return false;
    }
    this.#sockets.add(socket);
    this.#heldBy.set(client, held + 1);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      const left = (this.#heldBy.get(client) ?? 0) - 1;
      if (left > 0) this.#heldBy.set(client, left);
      else this.#heldBy.delete(client);
    });
    return true;
  }

  /** Ends the connections whose writes have made no progress for 10 s. `now`: in ms, of a clock that never jumps. */
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
      } else if (now - before.since >= stalledMs) {
        this.#stalled.add(() => {
          socket.destroy();
        });
      }
    }
  }
}

/** Metrics of the connections of a process's listeners. */
export const exposeConnections = (
  metrics: Metrics,
  listeners: Readonly<Record<string, { readonly connections: OpenConnections }>>,
): void => {
  const of = (count: (connections: OpenConnections) => number) => ({
    labels: ['listener'],
    read: () =>
      Object.entries(listeners).map(
        ([listener, { connections }]) => [{ listener }, count(connections)] as const,
      ),
  });
  metrics.gauge({
    name: 'linklog_http_connections',
    help: 'Open connections',
    ...of(({ sockets }) => sockets.size),
  });
  metrics.counter({
    name: 'linklog_http_connections_refused_total',
    help: 'Connections closed at once, since too few were free',
    ...of(({ refused }) => refused),
  });
};
