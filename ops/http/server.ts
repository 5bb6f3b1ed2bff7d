import { once } from 'node:events';
import {
  createServer,
  ServerResponse,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConfigError } from '../platform/errors.js';
import { createOutageLog, type Logger } from '../platform/logging.js';
import type { ProxyTrust } from './client-address.js';
import { maxConnections, OpenConnections, hasSlowBody } from './connections.js';
import { installFastPath, type FastPath } from './fast-path.js';
import { boundPipelines } from './pipeline.js';
import {
  authorityOf,
  isBadRequest,
  originFormOf,
  refusalOf,
  refuse,
  type ParseError,
} from './refusal.js';

/** The address that a listener binds to; port 0 means any free port. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

interface Bound {
  readonly host: string;
  readonly port: number;
  /** A reachable URL: never a wildcard address. */
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

/** How often a draining listener closes idle connections. */
const sweepMs = 100;

/** How often a listener closes connections without write progress. */
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
    // `closeIdle` does not close connections that never sent a request.
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

interface Handlers {
  readonly http: RequestListener;
  readonly fastPath?: FastPath | null;
}

/**
 * Listens with limits on connections and on the time to receive a request.
 *
 * @param name the prefix of the variables, for errors: `API` for API_HOST and API_PORT
 * @param createHandlers called when the port is known, before the first request
 * @throws ConfigError if it cannot listen on the address
 */
export const listen = async (
  name: 'API' | 'EDGE' | 'ADMIN',
  address: Listen,
  { trustedProxies, logger }: { readonly trustedProxies: ProxyTrust; readonly logger: Logger },
  createHandlers: (bound: Bound) => Handlers,
) => {
  let draining = false;
  const server = createServer({
    headersTimeout: firstByteMs,
    requestTimeout: 30_000,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: 5_000,
    maxHeaderSize: 16_384,
    // `isBadRequest` checks it: node:http would respond without a body.
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
  const acceptFailures = createOutageLog(logger, 'a connection could not be accepted');
  // Without a listener, the error would end the process.
  server.on('error', (err) => {
    // Before, `once` below rejects with it.
    if (server.listening) acceptFailures.failed(err);
  });
  const { host } = address;
  // Several processes may share the port of the edge.
  const exclusive = name !== 'EDGE';
  server.listen({ host, port: address.port, backlog: 1_024, exclusive });
  await once(server, 'listening').catch((error: unknown) => {
    throw listenError(error as NodeJS.ErrnoException, name, address);
  });
  const { port } = server.address() as AddressInfo;
  const bound: Bound = { host, port, url: urlOf({ host, port }) };
  const { http: handler, fastPath: open = null } = createHandlers(bound);
  const fastPath = open && installFastPath({ server, open, firstByteMs, keepAliveMs });
  const respond: RequestListener = (request, response) => {
    if (draining) response.setHeader('Connection', 'close');
    if (isBadRequest(request)) {
      refuse(request, response, refusalOf(null));
      return;
    }
    const { url = '/' } = request;
    const authority = authorityOf(url);
    // RFC 9112, 3.2.2
    if (authority !== null) request.headers.host = authority;
    request.url = originFormOf(url);
    handler(request, response);
  };
  const serve: RequestListener = (request, response) => {
    const pipeline = pipelineOf(request.socket);
    // The request arrived after the last response of the connection.
    if (pipeline.isOver) return;
    pipeline.add(request, response);
    respond(request, response);
  };
  server.on('request', serve);
  // RFC 9110 allows a server to ignore other expectations.
  server.on('checkExpectation', serve);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // node:http does not respond to CONNECT. It gets a response like other methods, and no tunnel.
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
  server.on('clientError', (error: ParseError, socket: Socket) => {
    if (hasSlowBody(socket)) {
      // The rest of the body cannot arrive, so the request would never end.
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy();
      return;
    }
    const pipeline = pipelineOf(socket);
    // The bytes follow the last request of the connection, whose response ends it.
    if (pipeline.isOver || error.code === 'HPE_CLOSED_CONNECTION') return;
    // Browsers open spare connections, and could use a response without a request for their next request.
    const unused = socket.bytesRead === 0;
    if (error.code === 'ECONNRESET' || !socket.writable || unused) socket.destroy();
    else pipeline.refuse(error);
  });
  return {
    ...bound,
    connections,
    /** Accepts no new connections, and waits for requests in progress, at most `graceMs`. */
    stop(graceMs: number): Promise<void> {
      draining = true;
      const closeIdle = (): void => {
        server.closeIdleConnections();
        fastPath?.closeIdle();
      };
      return close(server, sockets, closeIdle, graceMs);
    },
  };
};

export type HttpListener = Awaited<ReturnType<typeof listen>>;
