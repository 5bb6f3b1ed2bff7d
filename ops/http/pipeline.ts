import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EventLoopQueue } from '../platform/concurrency/periodic.js';
import { refusalBytes, refusalOf, refuse, type ParseError } from './refusal.js';

/** Requests of a connection whose responses wait for earlier ones. Beyond it, the connection is paused. */
const maxQueued = 3;
/** A paused connection is resumed when this number of responses waits. */
const resumeAt = 1;

/**
 * The minimum size of a slice (bytes). node:http parses all requests of a chunk (64 KiB, about 1,600 requests) before it
 * pauses, so chunks are sliced. A slice ends with the head of a request, and a head has at least 25 bytes.
 */
const minSlice = 64;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** The end of the slice that starts at `start`: after a blank line, which ends a head. */
const sliceEnd = (chunk: Buffer, start: number): number => {
  let at = chunk.indexOf(lineFeed, start + minSlice);
  while (at !== -1) {
    const next = chunk[at + 1];
    // Older versions of llhttp accept a line feed alone.
    if (next === lineFeed) return at + 2;
    if (next === carriageReturn && chunk[at + 2] === lineFeed) return at + 3;
    at = chunk.indexOf(lineFeed, at + 1);
  }
  return chunk.length;
};

/** Larger chunks wait in the queue of the event loop (bytes). */
const maxImmediate = 4_096;

/** How long a client may continue to send after the last response of its connection (ms). */
const lingerMs = 1_000;

/** The last parsed request of a connection. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The number of the slice that contains the end of its head. */
  readonly slice: number;
}

/**
 * The requests and responses of a connection of node:http. It limits the requests in progress, and sends error responses
 * of the listener in the order of the requests.
 */
class Pipeline {
  #latest: Exchange | null = null;
  #queued = 0;
  #slices = 0;
  /** Whether this class paused the socket. node:http pauses and resumes it for other reasons, too. */
  #isPaused = false;
  /** Whether the next chunk has waited in the queue of the event loop. */
  #hasWaited = false;
  /** Whether no more requests are read. */
  #isOver = false;
  /** Whether the last response was sent. */
  #isEnding = false;
  readonly #onData = (chunk: Buffer): void => {
    this.#read(chunk);
  };

  /** @param parse the replaced `data` listener of node:http */
  constructor(
    private readonly socket: Socket,
    private readonly parse: (slice: Buffer) => void,
    private readonly queue: EventLoopQueue,
  ) {
    socket.on('data', this.#onData).off('data', parse);
    // node:http calls it after the last response of the connection.
    socket.destroySoon = () => {
      this.#end();
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    this.#latest = { request, response, slice: this.#slices };
    // A response has the socket if no other response precedes it.
    if (response.socket !== null) return;
    this.#queued += 1;
    response.once('finish', () => {
      this.#queued -= 1;
      if (this.#isPaused && this.#queued === resumeAt) this.#scheduleResume();
    });
  }

  /** Stops reading, and calls back after the responses of all requests. */
  finish(callback: () => void): void {
    this.#isOver = true;
    this.socket.off('data', this.#onData).on('data', () => undefined);
    const response = this.#latest?.response;
    if (!response || (response.writableFinished && response.socket === null)) callback();
    else response.once('finish', callback);
  }

  /**
   * Responds to a request that could not be parsed or came too late, after the pending responses, and ends the
   * connection: the start of the next request is unknown.
   */
  refuse(error: ParseError): void {
    const latest = this.#latest;
    const isBody = latest?.request.complete === false;
    if (latest && isBody && !latest.response.headersSent) {
      this.#isOver = true;
      refuse(latest.request, latest.response, refusalOf(error));
      return;
    }
    const startsSlice = latest?.slice !== this.#slices;
    this.finish(() => {
      if (this.#isEnding) return;
      // The rest of a body gets no separate response.
      if (!isBody) this.socket.write(refusalBytes(error, startsSlice));
      this.#end();
    });
  }

  #read(chunk: Buffer): void {
    const { socket } = this;
    let start = 0;
    /** Whether the next request waits in the queue of the event loop. */
    let isWaiting =
      chunk.length > maxImmediate && !this.#hasWaited && this.#latest?.request.complete !== false;
    this.#hasWaited = false;
    while (start < chunk.length && !this.#isOver && !socket.destroyed) {
      // node:http resumes a socket for the body of a request, too.
      const isFull = this.#queued >= maxQueued;
      if ((isFull || isWaiting) && !socket.isPaused()) {
        this.#isPaused = true;
        socket.pause();
        if (!isFull) this.#scheduleResume();
      }
      if (socket.isPaused()) {
        socket.unshift(chunk.subarray(start));
        return;
      }
      this.#isPaused = false;
      const end = sliceEnd(chunk, start);
      this.#slices += 1;
      this.parse(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end));
      start = end;
      isWaiting = this.#latest?.request.complete === true;
    }
  }

  #scheduleResume(): void {
    this.queue.add(() => {
      if (!this.#isPaused) return;
      this.#isPaused = false;
      this.#hasWaited = true;
      this.socket.resume();
    });
  }

  /** Ends the connection without a reset, because a reset could drop the last response. */
  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#isOver = true;
    const { socket } = this;
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => {
      clearTimeout(timer);
    });
    socket.end();
  }
}

/** Limits the pipelines of a server. @returns the pipeline of a socket of node:http */
export const boundPipelines = (server: Server): ((socket: Socket) => Pipeline) => {
  const pipelines = new WeakMap<Socket, Pipeline>();
  const queue = new EventLoopQueue();
  const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
  server.off('connection', toHttp).prependListener('connection', (socket: Socket) => {
    toHttp.call(server, socket);
    const [parse] = socket.listeners('data') as [(slice: Buffer) => void];
    pipelines.set(socket, new Pipeline(socket, parse, queue));
  });
  return (socket) => {
    const pipeline = pipelines.get(socket);
    if (!pipeline)
      throw new Error('the socket has no pipeline: it is not a connection of node:http');
    return pipeline;
  };
};
