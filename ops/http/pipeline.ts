import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EventLoopQueue } from '../platform/concurrency/event-loop-queue.js';
import { refusalBytes, refusalOf, refuse, type Unread } from './refusal.js';

/** Requests of a connection whose responses wait for earlier ones. Beyond it, the connection is paused. */
const maxQueued = 3;
/** A paused connection is read again when so many wait. */
const resumeAt = 1;

/**
 * Bytes of the smallest slice. node:http parses every request of a chunk, 64 KiB or some 1,600 requests, before
 * it pauses. A slice ends with the head of a request, and has 25 bytes or more of each request that is in it.
 */
const minSlice = 64;

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** Where the slice of a chunk ends that begins at `start`: behind a blank line, which ends a head. */
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

/** Bytes of a chunk that waits for its turn: a client that sends few requests at a time never waits. */
const maxImmediate = 4_096;

/** Milliseconds that a client may keep sending after the last response of its connection. */
const lingerMs = 1_000;

/** The latest request of a connection, answered or not. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The number of the slice in which its head ended. */
  readonly slice: number;
}

/**
 * The requests and responses of a connection of node:http. It bounds the requests in progress, and keeps the
 * order of responses that node:http does not know of.
 */
export class Pipeline {
  #latest: Exchange | null = null;
  #queued = 0;
  #slices = 0;
  /** Paused here. node:http pauses and resumes its sockets for other reasons, too. */
  #isPaused = false;
  /** The next chunk has waited for its turn. */
  #isTurn = false;
  /** No further request is read. */
  #isOver = false;
  /** The last response was sent. */
  #isEnding = false;
  readonly #onData = (chunk: Buffer): void => {
    this.#read(chunk);
  };

  /** `parse`: the listener of node:http for the bytes of the socket, which is replaced. */
  constructor(
    private readonly socket: Socket,
    private readonly parse: (slice: Buffer) => void,
    private readonly responses: EventLoopQueue,
  ) {
    socket.on('data', this.#onData).off('data', parse);
    // node:http calls it after the last response of a connection.
    socket.destroySoon = () => {
      this.#end();
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes a request that was parsed. */
  add(request: IncomingMessage, response: ServerResponse): void {
    this.#latest = { request, response, slice: this.#slices };
    // It has the socket if its response is the next one.
    if (response.socket !== null) return;
    this.#queued += 1;
    response.once('finish', () => {
      this.#queued -= 1;
      if (this.#isPaused && this.#queued === resumeAt) this.#awaitTurn();
    });
  }

  /** Reads nothing more, and calls back when all requests have their responses. */
  finish(callback: () => void): void {
    this.#isOver = true;
    this.socket.off('data', this.#onData).on('data', () => undefined);
    const response = this.#latest?.response;
    if (!response || (response.writableFinished && response.socket === null)) callback();
    else response.once('finish', callback);
  }

  /**
   * Refuses bytes that the parser cannot read, or that came too late, after the responses that are due, and ends the
   * connection: the beginning of the next request is unknown.
   */
  refuse(error: Unread): void {
    const latest = this.#latest;
    const isBody = latest?.request.complete === false;
    if (latest && isBody && !latest.response.headersSent) {
      this.#isOver = true;
      refuse(latest.request, latest.response, refusalOf(error));
      return;
    }
    // A slice does not begin with the refused request if another request began in it.
    const begins = latest?.slice !== this.#slices;
    this.finish(() => {
      if (this.#isEnding) return;
      // The rest of a body gets no response of its own.
      if (!isBody) this.socket.write(refusalBytes(error, begins));
      this.#end();
    });
  }

  #read(chunk: Buffer): void {
    const { socket } = this;
    let start = 0;
    /** What follows a whole request is another one, which waits for its turn. A long chunk waits for its first, too. */
    let isNext =
      chunk.length > maxImmediate && !this.#isTurn && this.#latest?.request.complete !== false;
    this.#isTurn = false;
    while (start < chunk.length && !this.#isOver && !socket.destroyed) {
      // node:http resumes a socket for the body of a request, too.
      const isFull = this.#queued >= maxQueued;
      if ((isFull || isNext) && !socket.isPaused()) {
        this.#isPaused = true;
        socket.pause();
        if (!isFull) this.#awaitTurn();
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
      isNext = this.#latest?.request.complete === true;
    }
  }

  #awaitTurn(): void {
    this.responses.add(() => {
      if (!this.#isPaused) return;
      this.#isPaused = false;
      this.#isTurn = true;
      this.socket.resume();
    });
  }

  /** Ends the connection so that its last response arrives: a reset, while the client still sends, would drop it. */
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

/** Bounds the pipelines of a server. @returns the pipeline of a socket that node:http has */
export const boundPipelines = (server: Server): ((socket: Socket) => Pipeline) => {
  const pipelines = new WeakMap<Socket, Pipeline>();
  const responses = new EventLoopQueue();
  const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
  server.off('connection', toHttp).prependListener('connection', (socket: Socket) => {
    toHttp.call(server, socket);
    const [parse] = socket.listeners('data') as [(slice: Buffer) => void];
    pipelines.set(socket, new Pipeline(socket, parse, responses));
  });
  return (socket) => {
    const pipeline = pipelines.get(socket);
    if (!pipeline) throw new Error('node:http does not have this socket');
    return pipeline;
  };
};
