import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection of which a test writes every byte itself. */
export interface RawConnection {
  readonly socket: Socket;
  /** What came so far. */
  readonly received: () => string;
  /** @throws when the other side does not say it within `ms`. */
  until(pattern: RegExp, ms?: number): Promise<string>;
  /** Resolves with milliseconds since the connection was made. @throws when it is open after `ms`. */
  closed(ms: number): Promise<number>;
}

/** Connects to a product's address. A connection that the other side resets is simply closed. */
export const connectTo = async (origin: string): Promise<RawConnection> => {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  await once(socket, 'connect');
  const began = performance.now();
  let closedAt: number | null = null;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closedAt = performance.now() - began;
  });

  const wait = async <Value>(
    ms: number,
    what: string,
    look: () => Value | null,
  ): Promise<Value> => {
    const end = performance.now() + ms;
    for (;;) {
      const seen = look();
      if (seen !== null) return seen;
      if (performance.now() >= end) throw new Error(`${what} within ${ms} ms: ${received}`);
      await sleep(10);
    }
  };

  return {
    socket,
    received: () => received,
    until: (pattern, ms = 5_000) =>
      wait(ms, `${pattern.source} did not come`, () => (pattern.test(received) ? received : null)),
    closed: (ms) => wait(ms, 'The connection was not closed', () => closedAt),
  };
};
