import { once } from 'node:events';
import {
  createServer,
  ServerResponse,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConfigError } from '../platform/process/config-error.js';
import type { ProxyTrust } from './client-address.js';
import { maxConnections, OpenConnections } from './connections.js';
import { createLane, type OpenLane } from './fast-path.js';
import { boundPipelines } from './pipeline.js';
import {
  authorityOf,
  isBadRequest,
  originFormOf,
  refusalOf,
  refuse,
  type Unread,
} from './refusal.js';

/** The address that a listener binds to; port 0: any free one. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** The address that a listener was bound to. */
export interface Bound {
  readonly host: string;
  /** The real port, also where the configuration has 0. */
  readonly port: number;
  /** An address that can be connected to: never a wildcard, IPv6 in brackets. */
  readonly url: string;
}

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

/** How often a listener looks for connections whose writes make no progress. */
const stalledSweepMs = 1_000;

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
  const sweeping = setInterval(() => {
    connections.endStalled(performance.now());
  }, stalledSweepMs).unref();
  server.once('close', () => {
    clearInterval(sweeping);
  });
  const pipelineOf = boundPipelines(server);
  server.on('drop', () => {
    connections.refused += 1;
  });
  server.on('connection', (socket) => {
    connections.add(socket);
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
  const respond: RequestListener = (request, response) => {
    if (draining) response.setHeader('Connection', 'close');
    if (isBadRequest(request)) {
      refuse(request, response, refusalOf(null));
      return;
    }
    const { url = '/' } = request;
    const authority = authorityOf(url);
    // RFC 9112, 3.2.2: it replaces the Host field.
    if (authority !== null) request.headers.host = authority;
    request.url = originFormOf(url);
    handler(request, response);
  };
  const serve: RequestListener = (request, response) => {
    const pipeline = pipelineOf(request.socket);
    // It came after the last response of the connection.
    if (pipeline.isOver) return;
    pipeline.add(request, response);
    respond(request, response);
  };
  server.on('request', serve);
  // RFC 9110 allows a server to ignore other expectations.
  server.on('checkExpectation', serve);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // It gets an answer like any other method, and no tunnel. Node leaves the socket to us.
    socket.on('error', () => socket.destroy());
    const pipeline = pipelineOf(socket);
    if (pipeline.isOver) return;
    pipeline.finish(() => {
      if (!socket.writable) return;
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once('finish', () => {
        socket.destroySoon();
      });
      respond(request, response);
    });
  });
  server.on('clientError', (error: Unread, socket: Socket) => {
    const pipeline = pipelineOf(socket);
    // It came behind the last request of the connection, whose answer ends it.
    if (pipeline.isOver || error.code === 'HPE_CLOSED_CONNECTION') return;
    // Browsers open spare connections. An answer to no request might be taken for the answer to the
    // next one.
    const unused = socket.bytesRead === 0;
    if (error.code === 'ECONNRESET' || !socket.writable || unused) socket.destroy();
    else pipeline.refuse(error);
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
