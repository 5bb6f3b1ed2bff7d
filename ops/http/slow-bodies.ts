import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may send nothing (ms). */
const stallMs = 30_000;

/** The longest time to receive a body (ms). */
const longestMs = 30 * 60_000;

const receiving = new WeakMap<Socket, IncomingMessage>();

/** Whether a connection receives a body that may take longer than the listener's time limit. */
export const hasSlowBody = (socket: Socket): boolean => receiving.get(socket)?.complete === false;

/**
 * Receives a body for longer than the listener's time limit: up to 30 minutes, as long as the client sends something every
 * 30 s.
 */
export const withSlowBody = async <Result>(
  request: IncomingMessage,
  receive: () => Promise<Result>,
): Promise<Result> => {
  const { socket } = request;
  receiving.set(socket, request);
  socket.setTimeout(stallMs);
  const timer = setTimeout(() => socket.destroy(), longestMs).unref();
  try {
    return await receive();
  } finally {
    clearTimeout(timer);
    socket.setTimeout(0);
    receiving.delete(socket);
  }
};
