import type { Socket } from 'node:net';
import type { Metrics } from '../metrics/metrics.js';
import { addressOf, networkOf, type ProxyTrust } from './client-address.js';

/** Of each listener. */
export const maxConnections = 10_000;

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
