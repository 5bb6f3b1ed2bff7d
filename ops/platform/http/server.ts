import { once } from 'node:events';
import {
  createServer,
  ServerResponse,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConfigError, type Listen } from '../config/config.js';
import type { ProxyTrust } from './client-address.js';
import { maxConnections, OpenConnections } from './connections.js';
import { createLane, type OpenLane } from './lane.js';
import {
  isBadRequest,
  originFormOf,
  refusalBytes,
  refusalOf,
  refuse,
  type Unread,
} from './refusal.js';

/** The address that a listener was bound to. */
export interface Bound {
  readonly host: string;
  /** The real port, also where the configuration has 0. */
  readonly port: number;
  /** An address that can be connected to: never a wildcard, IPv6 in brackets. */
  readonly url: string;
}

/** How long a client may keep sending after the last answer of its connection. */
const lingerMs = 1_000;

/**
 * Ends a connection so that its last answer arrives. Where the client is still sending (a body that
 * was refused), closing at once would reset the connection, and lose an answer that is not read yet.
 */
const closeGently = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => {
    clearTimeout(timer);
  });
  socket.end();
};

const reachable = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};

/** The URL for a client on this machine. */
export const urlOf = ({ host, port }: Listen): string => `http://${reachable(host)}:${port}`;

const listenError = (error: NodeJS.ErrnoException, name: string, { host, port }: Listen): Error => {
  const cause = { cause: error };
  if (error.code === 'EADDRINUSE') {
    return new ConfigError(`${name}_PORT ${port} is in use on ${host}: choose another port`, cause);
  }
  if (error.code === 'EACCES') {
    return new ConfigError(`${name}_PORT ${port} needs privileges: choose one above 1023`, cause);
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    const variable = name === 'ADMIN' ? 'ADMIN_HOST' : `HOST or ${name}_HOST`;
    return new ConfigError(`${variable}: ${host} is no address of this machine`, cause);
  }
  return error;
};

const firstByteMs = 10_000;
const keepAliveMs = 65_000;

/** How often a draining listener looks for idle connections. */
const sweepMs = 100;

const close = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  closeIdle: () => void,
  graceMs: number,
): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, graceMs);
    // A connection is idle after its answer. Node does not count those that never sent a request.
    const sweep = setInterval(() => {
      closeIdle();
      for (const socket of sockets) {
        if (socket.bytesRead === 0) socket.destroy();
      }
    }, sweepMs);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(sweep);
      resolve();
    });
    closeIdle();
  });

/** The latest request of a connection, answered or not. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Read from the connection when the request's head was complete. */
  readonly bytesRead: number;
}

/**
 * Answers bytes that the parser cannot read, or that came too late, and ends the connection: nobody
 * knows where the next request would begin.
 */
const refuseRest = (error: Unread, socket: Socket, latest: Exchange | undefined): void => {
  const answered = latest?.response.headersSent ?? true;
  if (latest && !answered && latest.request.complete) {
    // A well-formed request came before it, and is answered first.
    latest.response.setHeader('Connection', 'close');
  } else if (latest && !answered) {
    refuse(latest.request, latest.response, refusalOf(error));
  } else {
    // The rest of a body gets no answer where its request has one already.
    const begun = latest !== undefined && !latest.request.complete;
    // The packet does not begin with this request where another one began in it.
    const begins = latest?.bytesRead !== socket.bytesRead;
    if (!begun) socket.write(refusalBytes(error, begins));
    socket.destroySoon();
  }
};

export interface Handlers {
  readonly http: RequestListener;
  /** Gets the requests that it may answer without node:http. */
  readonly lane?: OpenLane | null;
}

/**
 * Listens, with bounds on connections and on the time that a request may take to come in.
 *
 * `name` is the variables' prefix (`API` for API_HOST and API_PORT), for errors. The handlers are
 * made when the port is known, before the first request.
 *
 * @throws ConfigError when the address cannot be listened on.
 */
export const listen = async (
  name: 'API' | 'EDGE' | 'ADMIN',
  where: Listen,
  trustedProxies: ProxyTrust,
  makeHandlers: (bound: Bound) => Handlers,
) => {
  let draining = false;
  const server = createServer({
    headersTimeout: firstByteMs,
    requestTimeout: 30_000,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: 5_000,
    maxHeaderSize: 16_384,
    // Checked below, where the refusal has a body.
    requireHostHeader: false,
  });
  server.maxConnections = maxConnections;
  const connections = new OpenConnections(trustedProxies);
  const { sockets } = connections;
  const closing = new WeakSet<Socket>();
  const latest = new WeakMap<Socket, Exchange>();
  server.on('drop', () => {
    connections.refused += 1;
  });
  server.on('connection', (socket) => {
    if (!connections.add(socket)) return;
    // Node calls this after the last answer of a connection.
    socket.destroySoon = () => {
      closing.add(socket);
      closeGently(socket);
    };
  });
  // A later error is of one connection, which could not be accepted. Unheard, it would end the process.
  server.on('error', () => undefined);
  const { host } = where;
  // Processes that share a port share the edge's, and no other.
  const exclusive = name !== 'EDGE';
  server.listen({ host, port: where.port, backlog: 1_024, exclusive });
  await once(server, 'listening').catch((error: unknown) => {
    throw listenError(error as NodeJS.ErrnoException, name, where);
  });
  const { port } = server.address() as AddressInfo;
  const bound: Bound = { host, port, url: urlOf({ host, port }) };
  const { http: handler, lane: openLane = null } = makeHandlers(bound);
  const lane = openLane && createLane({ server, open: openLane, firstByteMs, keepAliveMs });
  const serve: RequestListener = (request, response) => {
    // It came after the last answer of the connection.
    if (closing.has(request.socket)) return;
    const { socket } = request;
    latest.set(socket, { request, response, bytesRead: socket.bytesRead });
    if (draining) response.setHeader('Connection', 'close');
    if (isBadRequest(request)) {
      refuse(request, response, refusalOf(null));
      return;
    }
    request.url = originFormOf(request.url ?? '/');
    handler(request, response);
  };
  server.on('request', serve);
  // RFC 9110 allows a server to ignore other expectations.
  server.on('checkExpectation', serve);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // It gets an answer like any other method, and no tunnel. Node leaves the socket to us.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      socket.destroySoon();
    });
    serve(request, response);
  });
  server.on('clientError', (error: Unread, socket: Socket) => {
    // It came behind the last request of the connection, whose answer ends it.
    if (closing.has(socket) || error.code === 'HPE_CLOSED_CONNECTION') return;
    // Browsers open spare connections. An answer to no request might be taken for the answer to the
    // next one.
    const unused = socket.bytesRead === 0;
    if (error.code === 'ECONNRESET' || !socket.writable || unused) socket.destroy();
    else refuseRest(error, socket, latest.get(socket));
  });
  return {
    ...bound,
    connections,
    /** No new connections; answers what is in flight, for `graceMs` at most. */
    stop(graceMs: number): Promise<void> {
      draining = true;
      const closeIdle = (): void => {
        server.closeIdleConnections();
        lane?.closeIdle();
      };
      return close(server, sockets, closeIdle, graceMs);
    },
  };
};

export type HttpListener = Awaited<ReturnType<typeof listen>>;
