import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WakeUp } from '../../platform/concurrency/deferred.js';
import { eventually } from './waiting.js';

/** A connection to an address of a product, on which a test writes every byte. A reset counts as a close. */
export const connectTo = async (origin: string) => {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  await once(socket, 'connect');
  const startedAt = performance.now();
  let closedAt: number | null = null;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closedAt = performance.now() - startedAt;
  });

  return {
    socket,
    received: () => received,
    /** @throws if the pattern is not received within `ms` */
    async until(pattern: RegExp, ms = 5_000): Promise<string> {
      await eventually(`${pattern.source} is received`, () => pattern.test(received), ms);
      return received;
    },
    /** Resolves with the milliseconds from connect to close. @throws if the connection is open after `ms` */
    async closed(ms: number): Promise<number> {
      await eventually('the connection is closed', () => closedAt !== null, ms);
      return closedAt ?? 0;
    },
  };
};

export type RawConnection = Awaited<ReturnType<typeof connectTo>>;

/** A response, parsed strictly from its bytes. */
export interface RawResponse {
  readonly status: number;
  /** Headers by name in lower case; repeated ones are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

interface Read {
  readonly response: RawResponse;
  /** The bytes after it. */
  readonly rest: Buffer;
}

const statusLine = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e]*)$/;
/** An interim response, after which the server may close the connection. */
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
const blankLine = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');

const headersOf = (lines: readonly string[]): Map<string, string> => {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = headerLine.exec(line) ?? [];
    if (name === '') throw new Error(`not a header: ${JSON.stringify(line)}`);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
};

/** Decodes a chunked body. @returns `null` if it is incomplete */
const unchunk = (bytes: Buffer): { body: Buffer; rest: Buffer } | null => {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf(lineEnd, at);
    if (end === -1) return null;
    const size = parseInt(bytes.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) throw new Error('a chunk has no size');
    const begin = end + lineEnd.length;
    at = begin + size + lineEnd.length;
    if (bytes.length < at) return null;
    if (size === 0) return { body: Buffer.concat(pieces), rest: bytes.subarray(at) };
    pieces.push(bytes.subarray(begin, begin + size));
  }
};

/**
 * Parses the first final response.
 *
 * @returns `null` if it is incomplete
 * @throws if it is not HTTP/1.1
 */
export const parseResponse = (bytes: Buffer, toHead: boolean): Read | null => {
  const end = bytes.indexOf(blankLine);
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(statusLine.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${JSON.stringify(first)}`);
  const headers = headersOf(lines);
  const after = bytes.subarray(end + blankLine.length);
  if (status < 200) return parseResponse(after, toHead);
  // 408: the server has not read the method.
  const bare = (toHead && status !== 408) || status === 204 || status === 304;
  if (bare) return { response: { status, headers, body: Buffer.alloc(0) }, rest: after };
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunks = unchunk(after);
    return chunks && { response: { status, headers, body: chunks.body }, rest: chunks.rest };
  }
  const length = Number(headers.get('content-length') ?? NaN);
  if (Number.isNaN(length)) throw new Error('the response has no Content-Length');
  if (after.length < length) return null;
  const body = after.subarray(0, length);
  return { response: { status, headers, body }, rest: after.subarray(length) };
};

interface RawRequest {
  readonly bytes: Buffer;
  readonly toHead: boolean;
  /** Closes the sending side after the request, which may be incomplete. */
  readonly last: boolean;
}

/** A connection and its received bytes. */
class Connection {
  received = Buffer.alloc(0);
  closed = false;
  readonly socket: Socket;
  readonly #wakeUp = new WakeUp();

  constructor(origin: string) {
    const { hostname, port } = new URL(origin);
    this.socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.socket.on('data', (data: Buffer) => {
      this.received = Buffer.concat([this.received, data]);
      this.#wakeUp.wake();
    });
    // A reset counts as a close.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
      this.#wakeUp.wake();
    });
  }

  /** Waits for bytes, or for the end of the connection. */
  more(withinMs: number): Promise<void> {
    return this.#wakeUp.sleep(withinMs);
  }
}

/** A client that sends raw requests sequentially, on one connection at a time. */
export class RawClient {
  #connection: Connection | null = null;

  constructor(private readonly origin: string) {}

  /**
   * Sends a request. @returns one response, or after the last request of a connection all responses until the server
   * closes it
   *
   * @throws if a response is malformed, or not received within `withinMs`
   */
  async exchange({ bytes, toHead, last }: RawRequest, withinMs: number): Promise<RawResponse[]> {
    const connection = await this.#connected();
    const deadline = performance.now() + withinMs;
    if (last) connection.socket.end(bytes);
    else connection.socket.write(bytes);
    const responses: RawResponse[] = [];
    for (;;) {
      const read = parseResponse(connection.received, toHead && responses.length === 0);
      if (read) {
        connection.received = Buffer.from(read.rest);
        responses.push(read.response);
        const open = read.response.headers.get('connection') !== 'close';
        if (!last && open) return responses;
      } else if (connection.closed) {
        const rest = connection.received.toString('latin1');
        // The server cannot parse the request line, so it does not know that the method is HEAD.
        const unread = toHead && responses.at(-1)?.status === 400 && rest.startsWith('{');
        if (rest !== '' && rest !== interim && !unread)
          throw new Error(`unexpected bytes after the responses: ${rest}`);
        return responses;
      } else {
        const left = deadline - performance.now();
        if (left <= 0) throw new Error(`no response and no close within ${withinMs} ms`);
        await connection.more(left);
      }
    }
  }

  end(): void {
    this.#connection?.socket.destroy();
    this.#connection = null;
  }

  async #connected(): Promise<Connection> {
    if (this.#connection && !this.#connection.closed) return this.#connection;
    const connection = new Connection(this.origin);
    this.#connection = connection;
    await once(connection.socket, 'connect');
    return connection;
  }
}
