import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import { createHeaderReader, matches } from './plain-headers.js';

/** The simplest GET request: HTTP/1.1, without a body, alone in its packet, on a persistent connection. */
export interface PlainRequest {
  /** The path without its slash: ASCII letters and digits, `-`, `_`, `.` and `~`. */
  readonly name: string;
  /** The query without its question mark: the same characters, `=` and `&`. */
  readonly query: string;
  /** A subset of the headers, in the form of node:http. The same object while a client sends the same headers. */
  readonly headers: IncomingHttpHeaders;
}

/**
 * Called for each connection. Returns the handler of its requests. The handler returns `false` to fall back to
 * node:http. Otherwise it calls `respond` once: with `null` to fall back to node:http, or with the status line and the
 * headers, each with its line end. Date and connection headers are added. The response has no body. The next request
 * follows after the response.
 */
export type FastPath = (
  socket: Socket,
  respond: (head: string | null) => void,
) => (request: PlainRequest) => boolean;

/** Longer requests fall back to node:http, which has its own limits. */
const maxBytes = 4_096;

/** `GET `, before the slash. */
const get = 0x47455420;
/** The offset of the path after its slash. */
const start = 5;
const [slash, questionMark] = [0x2f, 0x3f];
const version = Buffer.from(' HTTP/1.1\r\n');

/** Whether a path (1) or only a query (2) may contain a byte. The index is the byte. */
const plain = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte += 1) {
  const character = String.fromCharCode(byte);
  if (/[\w.~-]/.test(character)) plain[byte] = 1;
  if (/[=&]/.test(character)) plain[byte] = 2;
}

const createReader = () => {
  const readHeaders = createHeaderReader();

  /** Parses a complete request; `null` if it must fall back to node:http. */
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
    if (!matches(bytes, end, version)) return null;
    const headers = readHeaders(bytes, end + version.length);
    if (!headers) return null;
    const name = bytes.toString('latin1', start, nameEnd);
    const query = end === nameEnd ? '' : bytes.toString('latin1', nameEnd + 1, end);
    return { name, query, headers };
  };
};

/** The headers that node:http adds, and the blank line. Computed once a second, as the date of node:http. */
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

/** How often connections are checked for timeouts: a timer for each would cost more. */
const sweepMs = 1_000;

interface Connection {
  /** The number of the sweep that expires it. */
  endsAt: number;
  /** Closes it if it is idle. */
  close(): void;
  /** Closes it unless a request is in progress, even if the client has not read the response. */
  expire(): void;
}

/**
 * Installs a fast path before the node:http of a server. It parses the simplest requests from the bytes of the socket,
 * in half of the time. At the first other request, the connection falls back to node:http permanently.
 */
export const installFastPath = (options: {
  /** Its first listener for connections is replaced. */
  readonly server: Server;
  readonly open: FastPath;
  /** Timeout until the first byte (ms). */
  readonly firstByteMs: number;
  /** Timeout between a response and the next request (ms). */
  readonly keepAliveMs: number;
}) => {
  const { server, open, firstByteMs, keepAliveMs } = options;
  const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
  const tail = createTail(keepAliveMs);
  const connections = new Set<Connection>();
  let closed = false;

  let sweeps = 0;
  /** The first sweep that is at least `ms` away. */
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

  const accept = (socket: Socket): void => {
    /** The request in progress. */
    let current: Buffer | null = null;
    /** Bytes received during the request in progress. */
    let pipelined: Buffer | null = null;
    let ended = false;
    const read = createReader();

    const fallBack = (bytes: Buffer): void => {
      removeListeners();
      toHttp.call(server, socket);
      const isPaused = socket.isPaused();
      // Without a pause, node:http parses the bytes here, and may pause the socket itself.
      socket.unshift(bytes);
      if (isPaused) socket.resume();
    };

    const respond = (head: string | null): void => {
      const request = current;
      if (request === null || socket.destroyed) return;
      current = null;
      if (head === null) {
        // Like node:http, it sends no late response to a client that closed its side.
        if (ended) socket.destroy();
        else fallBack(pipelined ? Buffer.concat([request, pipelined]) : request);
        return;
      }
      socket.write(head + tail(), 'latin1');
      if (pipelined) fallBack(pipelined);
      else if (ended) socket.end();
      else connection.endsAt = sweepAfter(keepAliveMs);
    };

    const onData = (bytes: Buffer): void => {
      if (current) {
        pipelined = bytes;
        socket.pause();
        return;
      }
      // node:http limits clients that do not read their responses.
      const request = closed || socket.writableLength > 0 ? null : read(bytes);
      current = bytes;
      let isHandled = false;
      try {
        isHandled = request !== null && handler(request);
      } catch {
        // The handler of node:http gets the same error and reports it.
      }
      if (!isHandled) respond(null);
    };
    const onEnd = (): void => {
      ended = true;
      if (!current) socket.end();
    };
    const destroy = (): void => {
      socket.destroy();
    };
    const connection: Connection = {
      endsAt: sweepAfter(firstByteMs),
      close() {
        if (!current && socket.writableLength === 0) socket.destroy();
      },
      expire() {
        if (!current) socket.destroy();
      },
    };
    const removeListeners = (): void => {
      connections.delete(connection);
      socket.off('data', onData).off('end', onEnd);
      socket.off('error', destroy).off('close', removeListeners);
    };

    const handler = open(socket, respond);
    connections.add(connection);
    socket.on('data', onData).on('end', onEnd);
    socket.on('error', destroy).on('close', removeListeners);
  };

  server.off('connection', toHttp).on('connection', accept);

  return {
    /** Accepts no more requests, and closes idle connections. Later calls close the others. */
    closeIdle(): void {
      closed = true;
      for (const connection of connections) connection.close();
    },
  };
};
