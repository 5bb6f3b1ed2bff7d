import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';

/** A GET request of the simplest kind: HTTP/1.1, no body, alone in its packet, its connection kept. */
export interface PlainRequest {
  /** The path is a slash and letters, digits, hyphens or underscores; so is the query, with `=` and `&`. */
  readonly url: string;
  /** Those that a handler may look at, as node:http gives them. */
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
}

/**
 * Takes a request, or leaves it to node:http: returns `false`, or calls `answer` with `null`, later too.
 * Else it calls `answer` once, with the status line and the headers, each with its line end; those of the
 * connection and the date are added. The answer has no body.
 */
export type LaneHandler = (request: PlainRequest, answer: (head: string | null) => void) => boolean;

/** More is left to node:http, which has bounds of its own. */
const maxBytes = 4_096;

const requestLine = /GET (\/[\w-]+(?:\?[\w=&-]*)?) HTTP\/1\.1\r\n/y;
const headerLine = /([A-Za-z0-9-]+): ?([!-~](?:[ -~]*[!-~])?)\r\n/y;

const keptNames = [
  ...['user-agent', 'referer', 'accept-language', 'x-forwarded-for', 'x-request-id'],
  ...['dnt', 'sec-gpc', 'sec-purpose', 'purpose', 'x-purpose', 'x-moz'],
] as const;
/** The string that a name equals: one made from a request would be hashed again at each use. */
const kept: ReadonlyMap<string, string> = new Map(keptNames.map((name) => [name, name]));

/** What node:http or its parser act on. `Connection` may ask for what is done anyway. */
const acted: ReadonlySet<string> = new Set([
  ...['content-length', 'transfer-encoding', 'trailer', 'te', 'expect'],
  ...['connection', 'proxy-connection', 'keep-alive', 'upgrade'],
]);

/** The request that the bytes are, whole; `null` where node:http has to judge. */
const plainRequest = (bytes: Buffer, socket: Socket): PlainRequest | null => {
  if (bytes.length > maxBytes) return null;
  const text = bytes.toString('latin1');
  requestLine.lastIndex = 0;
  const line = requestLine.exec(text);
  if (!line) return null;
  const headers: Record<string, string> = {};
  let hosts = 0;
  let at = requestLine.lastIndex;
  while (at < text.length - 2) {
    headerLine.lastIndex = at;
    const header = headerLine.exec(text);
    if (!header) return null;
    at = headerLine.lastIndex;
    const [, given = '', value = ''] = header;
    const name = given.toLowerCase();
    const keptName = kept.get(name);
    if (keptName !== undefined) {
      // How headers that come twice are joined, node:http knows.
      if (headers[keptName] !== undefined) return null;
      headers[keptName] = value;
    } else if (name === 'host') hosts += 1;
    else if (acted.has(name) && !(name === 'connection' && value === 'keep-alive')) return null;
  }
  const isWhole = at === text.length - 2 && text.endsWith('\r\n');
  return isWhole && hosts === 1 ? { url: line[1] ?? '', headers, socket } : null;
};

/** As node:http makes it: once a second. */
const createDate = (): (() => string) => {
  let text = '';
  let second = 0;
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1_000).toUTCString();
    }
    return text;
  };
};

/**
 * A fast lane before the node:http of a server: it answers requests of the simplest kind from their bytes, in
 * half of the time. At the first byte that it does not know it gives the connection to node:http, for good.
 */
export const createLane = (options: {
  /** Its own listener for connections, added first, is replaced. */
  readonly server: Server;
  readonly handler: LaneHandler;
  /** Milliseconds for the first byte, and between an answer and the next request. */
  readonly firstByteMs: number;
  readonly keepAliveMs: number;
}) => {
  const { server, handler, firstByteMs, keepAliveMs } = options;
  const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
  const date = createDate();
  const ofConnection = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1_000}\r\n\r\n`;
  /** Ends each connection that waits for nothing. */
  const open = new Set<() => void>();
  let closed = false;

  const take = (socket: Socket): void => {
    /** The request that waits for its answer, and what came behind it meanwhile. */
    let asked: Buffer | null = null;
    let behind: Buffer | null = null;
    let ended = false;

    const leave = (bytes: Buffer): void => {
      forget();
      socket.setTimeout(0);
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
      socket.write(`${head}Date: ${date()}\r\n${ofConnection}`, 'latin1');
      if (behind) leave(behind);
      else if (ended) socket.end();
      else if (socket.timeout !== keepAliveMs) socket.setTimeout(keepAliveMs);
    };

    const onData = (bytes: Buffer): void => {
      if (asked) {
        // A client that does not wait for its answers.
        behind = bytes;
        socket.pause();
        return;
      }
      // Nor does one that does not read them get more.
      const request = closed || socket.writableLength > 0 ? null : plainRequest(bytes, socket);
      asked = bytes;
      let isTaken = false;
      try {
        isTaken = request !== null && handler(request, answer);
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
    const close = (): void => {
      if (!asked && socket.writableLength === 0) socket.destroy();
    };
    const forget = (): void => {
      open.delete(close);
      socket.off('data', onData).off('end', onEnd).off('timeout', destroy).off('error', destroy);
      socket.off('close', forget);
    };

    open.add(close);
    socket.setTimeout(firstByteMs);
    socket.on('data', onData).on('end', onEnd).on('timeout', destroy).on('error', destroy);
    socket.on('close', forget);
  };

  server.off('connection', toHttp).on('connection', take);

  return {
    /** Takes no more requests, and ends the connections that wait for no answer; the others at a later call. */
    closeIdle(): void {
      closed = true;
      for (const close of open) close();
    },
  };
};
