import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WakeUp } from '../../platform/concurrency/wake-up.js';
import { eventually } from './waiting.js';

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

  return {
    socket,
    received: () => received,
    async until(pattern, ms = 5_000) {
      await eventually(`${pattern.source} is received`, () => pattern.test(received), ms);
      return received;
    },
    async closed(ms) {
      await eventually('the connection is closed', () => closedAt !== null, ms);
      return closedAt ?? 0;
    },
  };
};

/** An answer, read from its bytes: nothing is taken for granted, and nothing is mended. */
export interface RawResponse {
  readonly status: number;
  /** By their names in lower case; those that came more than once joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

interface Read {
  readonly answer: RawResponse;
  /** What comes after it. */
  readonly rest: Buffer;
}

const statusLine = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x20-\x7e]*)$/;
/** An interim answer, after which the other side may still go. */
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
const blankLine = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');

const headersOf = (lines: readonly string[]): Map<string, string> => {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = headerLine.exec(line) ?? [];
    if (name === '') throw new Error(`No header: ${JSON.stringify(line)}`);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
};

/** The body in chunks, or `null` where it is not all there. */
const unchunk = (bytes: Buffer): { body: Buffer; rest: Buffer } | null => {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf(lineEnd, at);
    if (end === -1) return null;
    const size = parseInt(bytes.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) throw new Error('No size of a chunk');
    const begin = end + lineEnd.length;
    at = begin + size + lineEnd.length;
    if (bytes.length < at) return null;
    if (size === 0) return { body: Buffer.concat(pieces), rest: bytes.subarray(at) };
    pieces.push(bytes.subarray(begin, begin + size));
  }
};

/**
 * The first final answer in these bytes, or `null` where it is not all there.
 *
 * @throws when they are no HTTP/1.1
 */
export const parseResponse = (bytes: Buffer, toHead: boolean): Read | null => {
  const end = bytes.indexOf(blankLine);
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(statusLine.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error(`No status line: ${JSON.stringify(first)}`);
  const headers = headersOf(lines);
  const after = bytes.subarray(end + blankLine.length);
  if (status < 200) return parseResponse(after, toHead);
  // What was not read in time may be anything; nobody knows that it is HEAD.
  const bare = (toHead && status !== 408) || status === 204 || status === 304;
  if (bare) return { answer: { status, headers, body: Buffer.alloc(0) }, rest: after };
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunks = unchunk(after);
    return chunks && { answer: { status, headers, body: chunks.body }, rest: chunks.rest };
  }
  const length = Number(headers.get('content-length') ?? NaN);
  if (Number.isNaN(length)) throw new Error('An answer whose end nobody knows');
  if (after.length < length) return null;
  const body = after.subarray(0, length);
  return { answer: { status, headers, body }, rest: after.subarray(length) };
};

export interface RawRequest {
  readonly bytes: Buffer;
  readonly toHead: boolean;
  /** Nothing follows it, and the other side is told so: for what may be no whole request. */
  readonly last: boolean;
}

/** A connection and what came on it: the end of an earlier one says nothing of the next. */
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
    // A reset is an end like any other; what came before it is judged.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
      this.#wakeUp.wake();
    });
  }

  /** Waits until bytes have come, or the end of the connection. */
  more(withinMs: number): Promise<void> {
    return this.#wakeUp.sleep(withinMs);
  }
}

/** A client that writes every byte itself, one request after the other, on one connection at a time. */
export class RawClient {
  #connection: Connection | null = null;

  constructor(private readonly origin: string) {}

  /**
   * The answers to a request: one, or where it is the last of its connection, as many as come until
   * the other side closes it.
   *
   * @throws when an answer is malformed, or not there in `withinMs`
   */
  async exchange({ bytes, toHead, last }: RawRequest, withinMs: number): Promise<RawResponse[]> {
    const connection = await this.#connected();
    const deadline = performance.now() + withinMs;
    if (last) connection.socket.end(bytes);
    else connection.socket.write(bytes);
    const answers: RawResponse[] = [];
    for (;;) {
      const read = parseResponse(connection.received, toHead && answers.length === 0);
      if (read) {
        connection.received = Buffer.from(read.rest);
        answers.push(read.answer);
        const open = read.answer.headers.get('connection') !== 'close';
        if (!last && open) return answers;
      } else if (connection.closed) {
        const rest = connection.received.toString('latin1');
        // A request line that cannot be read may have begun with anything: nobody knows that it is HEAD.
        const unread = toHead && answers.at(-1)?.status === 400 && rest.startsWith('{');
        if (rest !== '' && rest !== interim && !unread) throw new Error(`Left over: ${rest}`);
        return answers;
      } else {
        const left = deadline - performance.now();
        if (left <= 0) throw new Error(`Neither answered nor closed within ${withinMs} ms`);
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
