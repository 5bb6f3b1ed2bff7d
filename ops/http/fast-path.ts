import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import { createHeaderReader, stands } from './plain-headers.js';

/** A GET request of the simplest kind: HTTP/1.1, no body, alone in its packet, its connection kept. */
export interface PlainRequest {
  /** The path after its slash: letters, digits, hyphens and underscores. */
  readonly name: string;
  /** What follows a question mark: those, `=` and `&`. Mostly empty. */
  readonly query: string;
  /**
   * Those that a handler may look at, as node:http gives them: the same object while a client sends the same
   * headers, so that what follows from them can be kept.
   */
  readonly headers: IncomingHttpHeaders;
}

/**
 * Begins a connection. The function that it returns takes a request, or leaves it to node:http: it returns
 * `false`, or calls `answer` with `null`, later too. Else it calls `answer` once, with the status line and the
 * headers, each with its line end; those of the connection and the date are added. The answer has no body. The
 * next request of the connection comes after that.
 */
export type OpenLane = (
  socket: Socket,
  answer: (head: string | null) => void,
) => (request: PlainRequest) => boolean;

/** More is left to node:http, which has bounds of its own. */
const maxBytes = 4_096;

/** `GET `, a slash follows. */
const get = 0x47455420;
/** Of the path after its slash. */
const start = 5;
const [slash, questionMark] = [0x2f, 0x3f];
/** What follows the URL. */
const version = Buffer.from(' HTTP/1.1\r\n');

/** By byte: 1 for what may stand in a path, 2 for what only a query may have. */
const plain = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte += 1) {
  const character = String.fromCharCode(byte);
  if (/[\w-]/.test(character)) plain[byte] = 1;
  if (/[=&]/.test(character)) plain[byte] = 2;
}

/** Reads the requests of a connection. */
const createReader = () => {
  const readHeaders = createHeaderReader();

  /** The request that the bytes are, whole; `null` where node:http has to judge. */
  return (bytes: Buffer): PlainRequest | null => {
    const { length } = bytes;
    if (length > maxBytes || length <= start || bytes.readUInt32BE(0) !== get) return null;
    let end = start;
    while (plain[bytes[end] ?? 0] === 1) end += 1;
    if (end === start || bytes[start - 1] !== slash) return null;
    const nameEnd = end;
    if (bytes[end] === questionMark) {
      do end += 1;
      while (plain[bytes[end] ?? 0] !== 0);
    }
    if (!stands(bytes, end, version)) return null;
    const headers = readHeaders(bytes, end + version.length);
    if (!headers) return null;
    const name = bytes.toString('latin1', start, nameEnd);
    const query = end === nameEnd ? '' : bytes.toString('latin1', nameEnd + 1, end);
    return { name, query, headers };
  };
};

/** The headers that node:http adds, and the end of all; made once a second, as node:http makes its date. */
const createTail = (keepAliveMs: number): (() => string) => {
  let text: string | null = null;
  return () => {
    if (text !== null) return text;
    const now = new Date();
    setTimeout(() => {
      text = null;
    }, 1_000 - now.getMilliseconds()).unref();
    text = `Date: ${now.toUTCString()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1_000}\r\n\r\n`;
    return text;
  };
};

/** How often connections are looked at that wait for longer than they may: a timer for each costs more. */
const sweepMs = 1_000;

/** A connection of the lane. */
interface Connection {
  /** The number of the sweep that expires it. */
  endsAt: number;
  /** Ends it if it waits for nothing. */
  close(): void;
  /** Ends it, also where the client does not read its answers; not while a request waits for one. */
  expire(): void;
}

/**
 * A fast lane before the node:http of a server: it answers requests of the simplest kind from their bytes, in
 * half of the time. At the first byte that it does not know it gives the connection to node:http, for good.
 */
export const createLane = (options: {
  /** Its own listener for connections, added first, is replaced. */
  readonly server: Server;
  readonly open: OpenLane;
  /** Milliseconds for the first byte, and between an answer and the next request. */
  readonly firstByteMs: number;
  readonly keepAliveMs: number;
}) => {
  const { server, open, firstByteMs, keepAliveMs } = options;
  const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
  const tail = createTail(keepAliveMs);
  const connections = new Set<Connection>();
  let closed = false;

  let sweeps = 0;
  /** The sweep that comes after so many milliseconds, and no earlier. */
  const sweepAfter = (ms: number): number => sweeps + 1 + Math.ceil(ms / sweepMs);
  const sweeping = setInterval(() => {
    sweeps += 1;
    for (const connection of connections) {
      if (connection.endsAt <= sweeps) connection.expire();
    }
  }, sweepMs).unref();
  server.once('close', () => {
    clearInterval(sweeping);
  });

  const take = (socket: Socket): void => {
    /** The request that waits for its answer, and what came behind it meanwhile. */
    let asked: Buffer | null = null;
    let behind: Buffer | null = null;
    let ended = false;
    const read = createReader();

    const leave = (bytes: Buffer): void => {
      forget();
      toHttp.call(server, socket);
      socket.unshift(bytes);
      socket.resume();
    };

    const answer = (head: string | null): void => {
      const request = asked;
      if (request === null || socket.destroyed) return;
      asked = null;
      if (head === null && ended) {
        // Nor does node:http answer a client late that has said that it goes.
        socket.destroy();
        return;
      }
      if (head === null) {
        leave(behind ? Buffer.concat([request, behind]) : request);
        return;
      }
      socket.write(head + tail(), 'latin1');
      if (behind) leave(behind);
      else if (ended) socket.end();
      else connection.endsAt = sweepAfter(keepAliveMs);
    };

    const onData = (bytes: Buffer): void => {
      if (asked) {
        // A client that does not wait for its answers.
        behind = bytes;
        socket.pause();
        return;
      }
      // Nor does one that does not read them get more.
      const request = closed || socket.writableLength > 0 ? null : read(bytes);
      asked = bytes;
      let isTaken = false;
      try {
        isTaken = request !== null && handler(request);
      } catch {
        // The other handler meets the same, and tells of it.
      }
      if (!isTaken) answer(null);
    };
    const onEnd = (): void => {
      ended = true;
      if (!asked) socket.end();
    };
    const destroy = (): void => {
      socket.destroy();
    };
    const connection: Connection = {
      endsAt: sweepAfter(firstByteMs),
      close() {
        if (!asked && socket.writableLength === 0) socket.destroy();
      },
      expire() {
        if (!asked) socket.destroy();
      },
    };
    const forget = (): void => {
      connections.delete(connection);
      socket.off('data', onData).off('end', onEnd).off('error', destroy).off('close', forget);
    };

    const handler = open(socket, answer);
    connections.add(connection);
    socket.on('data', onData).on('end', onEnd).on('error', destroy).on('close', forget);
  };

  server.off('connection', toHttp).on('connection', take);

  return {
    /** Takes no more requests, and ends the connections that wait for no answer; the others at a later call. */
    closeIdle(): void {
      closed = true;
      for (const connection of connections) connection.close();
    },
  };
};
