import { connect, type Socket } from 'node:net';

const floodBytes = 65_536;
const writeMs = 1_000;

/** Up to 64 KiB of requests for a path. */
const requestsFor = (path: string): string => {
  // The edge sends pages to browsers only.
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n`;
  return request.repeat(Math.floor(floodBytes / request.length));
};

/**
 * Keeps connections open that pipeline requests for `path`, 64 KiB each second as long as the server reads, and never
 * read a response. A connection that the server ends is replaced.
 */
export const floodWithoutReading = (
  origin: string,
  { path, connections }: { readonly path: string; readonly connections: number },
) => {
  const { hostname: host, port } = new URL(origin);
  const requests = requestsFor(path);
  const sockets = new Set<Socket>();
  let ended = 0;

  const open = (): void => {
    const socket = connect({ host, port: Number(port) });
    sockets.add(socket);
    socket.pause().write(requests);
    // The server resets connections with unsent bytes.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      ended += 1;
      sockets.delete(socket);
    });
  };
  const refill = (): void => {
    while (sockets.size < connections) open();
  };

  refill();
  const writing = setInterval(() => {
    // A paused socket detects a reset only when it writes.
    for (const socket of sockets) if (socket.writableLength === 0) socket.write(requests);
    refill();
  }, writeMs);
  return {
    /** The number of connections that the server has closed. */
    ended: (): number => ended,
    end(): void {
      clearInterval(writing);
      for (const socket of sockets) socket.destroy();
    },
  };
};
