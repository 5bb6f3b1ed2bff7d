import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { callbackify } from 'node:util';
import pg from 'pg';
import { DependencyFault, hasCode, messageOf } from '../errors.js';
import {
  hostsOf,
  parseConnectionUrl,
  type ConnectionTarget,
  type SslMode,
  type TlsSettings,
} from './connection-url.js';

/** How long a host is tried before the next one is tried as well (ms). */
const headStartMs = 250;
/** Timeout of a connection that only tests a host (ms). */
const probeTimeoutMs = 1_000;

/** A host, and whether its connections use TLS. */
interface Server {
  /** The URL of this host only. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly encrypted: boolean;
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** Whether to try TLS, in this order. */
const encryptions: Readonly<Record<SslMode, readonly boolean[]>> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
};

const tlsOptions = ({ mode, files }: TlsSettings): ConnectionOptions => {
  const { sslrootcert, sslcert, sslkey } = files;
  // As with libpq, `require` verifies the CA if there is one.
  const verifies = mode.startsWith('verify-') || (mode === 'require' && sslrootcert !== undefined);
  return {
    rejectUnauthorized: verifies,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(sslrootcert !== undefined && { ca: readFileSync(sslrootcert) }),
    ...(sslcert !== undefined && { cert: readFileSync(sslcert) }),
    ...(sslkey !== undefined && { key: readFileSync(sslkey) }),
  };
};

/** SQLSTATE of a connection that no line of pg_hba.conf allows, for example without TLS. */
const invalidAuthorization = '28000';

/** Whether PostgreSQL rejected the user, the password or the database. As with libpq, no other host is tried then. */
const isRejection = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^28|^3D000$/.test(error.code ?? '');

/** Whether the host cannot be reached, with or without TLS. */
const isUnreachable = (error: unknown): boolean =>
  hasCode(error, 'ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH') ||
  hasCode(error, 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EACCES');

/** The servers of a URL. All connections of a thread share the result of a search. */
class Servers {
  readonly #target: ConnectionTarget;
  readonly #candidates: readonly (readonly Server[])[];
  #found: Server | null = null;
  #searching: Promise<Server> | null = null;

  constructor(private readonly url: string) {
    this.#target = parseConnectionUrl(url);
    this.#candidates = this.#target.urls.map((url) => {
      const { host, port } = new pg.Client({ connectionString: url });
      const modes = encryptions[this.#target.tls.mode];
      return modes.map((encrypted) => ({ url, host, port, encrypted }));
    });
  }

  /** The server of the next connection, unless a search finds another one. */
  get likely(): Server {
    const [server] = this.#candidates.flat();
    if (!server) throw new Error('the connection URL has no host');
    return this.#found ?? server;
  }

  get negotiation(): TlsSettings['negotiation'] {
    return this.#target.tls.negotiation;
  }

  find(): Server | Promise<Server> {
    if (this.#found) return this.#found;
    if (this.#candidates.flat().length === 1) return this.likely;
    this.#searching ??= this.#search().finally(() => {
      this.#searching = null;
    });
    return this.#searching;
  }

  /** The next connection searches again. */
  forget(): void {
    this.#found = null;
  }

  /** The TLS options of a connection. The files are read each time, because certificates are renewed. */
  tlsOf({ encrypted }: Server): false | ConnectionOptions {
    return encrypted && tlsOptions(this.#target.tls);
  }

  /** @throws DependencyFault if the session is not of the kind in `target_session_attrs` */
  requireSession(settings: ReadonlyMap<string, string>): void {
    const isStandby = settings.get('in_hot_standby') === 'on';
    const isReadOnly = isStandby || settings.get('default_transaction_read_only') === 'on';
    const refuses = { any: false, 'read-write': isReadOnly, primary: isStandby };
    if (refuses[this.#target.session]) throw new DependencyFault('25006', 'postgres is read-only');
  }

  /** Tries the hosts in order. */
  async #search(): Promise<Server> {
    const attempts: Promise<Server>[] = [];
    for (const servers of this.#candidates) {
      const attempt = this.#probe(servers);
      attempts.push(attempt);
      const isDecided = await Promise.race([
        attempt.then(() => true, isRejection),
        sleep(headStartMs, false),
      ]);
      if (isDecided) break;
    }
    try {
      this.#found = await Promise.any(attempts);
      return this.#found;
    } catch (error) {
      throw this.#explain((error as AggregateError).errors);
    }
  }

  /** Returns the first of a host's servers that accepts a connection. */
  async #probe(servers: readonly Server[]): Promise<Server> {
    let failure: unknown;
    for (const server of servers) {
      const client = new RoutedClient(
        {
          connectionString: this.url,
          application_name: 'linklog',
          connectionTimeoutMillis: probeTimeoutMs,
        },
        server,
      );
      try {
        await client.connect();
        void client.end();
        return server;
      } catch (error) {
        // If the password is wrong with TLS and pg_hba.conf requires TLS, the password is the cause.
        if (!isRejection(failure) || !hasCode(error, invalidAuthorization)) failure = error;
        if (error instanceof DependencyFault || isUnreachable(error)) break;
      }
    }
    throw failure;
  }

  #explain(errors: readonly unknown[]): unknown {
    const decisive = errors.find(isRejection);
    if (decisive !== undefined || errors.length === 1) return decisive ?? errors[0];
    const hosts = hostsOf(this.url).split(',');
    const messages = errors.map((error, index) => `${hosts[index] ?? ''}: ${messageOf(error)}`);
    const codes = errors.map((error) => (error as { readonly code?: unknown }).code);
    return Object.assign(new Error(messages.join('; ')), { code: codes.find(Boolean) });
  }
}

const serversByUrl = new Map<string, Servers>();

const serversOf = (url: string): Servers => {
  const servers = serversByUrl.get(url) ?? new Servers(url);
  serversByUrl.set(url, servers);
  return servers;
};

/** Called when a connection was lost: the next one searches the hosts of the URL again. */
export const forgetServer = (url: string): void => {
  serversOf(url).forget();
};

/** The server does not offer TLS, or the handshake failed. */
export class TlsFailed extends Error {
  readonly code = 'TLS_FAILED';
}

/** Codes of OpenSSL and of Node.js, such as `CERT_HAS_EXPIRED`. */
const tlsCode =
  /CERT|^(?:INVALID_|PATH_LENGTH_|HOSTNAME_|UNABLE_TO_)|^EPROTO$|^ERR_(?:SSL|TLS|OSSL)_/;

/** Gives errors of `pg` and of TLS a code that the table of error codes knows. */
const explain = (cause: unknown, timeoutMs: number): unknown => {
  if (!(cause instanceof Error) || cause instanceof pg.DatabaseError) return cause;
  if (cause.message === 'timeout expired') {
    const message = `no response within ${timeoutMs} ms`;
    return Object.assign(new Error(message, { cause }), { code: 'ETIMEDOUT' });
  }
  const { code = '' } = cause as NodeJS.ErrnoException;
  const isTls = cause.message.includes('SSL connection') || tlsCode.test(code);
  return isTls ? new TlsFailed(`TLS failed: ${messageOf(cause)}`, { cause }) : cause;
};

/** A client that chooses host and encryption when it connects, as libpq does. All connections to DATABASE_URL use it. */
export class RoutedClient extends pg.Client {
  readonly #servers: Servers;
  readonly #settings = new Map<string, string>();
  readonly #timeoutMs: number;
  #server: Server;

  /** @param only the only server to try */
  constructor(
    config: pg.ClientConfig = {},
    private readonly only: Server | null = null,
  ) {
    const servers = serversOf(config.connectionString ?? '');
    const server = only ?? servers.likely;
    super({
      ...config,
      connectionString: server.url,
      ssl: server.encrypted,
      sslnegotiation: servers.negotiation,
    });
    this.#servers = servers;
    this.#server = server;
    this.#timeoutMs = config.connectionTimeoutMillis ?? 0;
    this.connection.on('parameterStatus', (status: ParameterStatus) => {
      this.#settings.set(status.parameterName, status.parameterValue);
    });
    // An error event without a listener ends the process. With this one, the next statement fails instead.
    this.on('error', () => undefined);
  }

  /** Whether new connections use another server. */
  get isOutdated(): boolean {
    return this.#server !== this.#servers.likely;
  }

  override readonly connect = ((callback?: (error: Error | null) => void) => {
    if (!callback) return this.#connect();
    callbackify(() => this.#connect())(callback);
    return undefined;
  }) as pg.Client['connect'];

  async #connect(): Promise<this> {
    try {
      this.#use(this.only ?? (await this.#servers.find()));
      await super.connect();
      this.#servers.requireSession(this.#settings);
      return this;
    } catch (error) {
      if (this.only === null) this.#servers.forget();
      if (error instanceof DependencyFault) void this.end();
      else this.connection.stream.destroy();
      throw explain(error, this.#timeoutMs);
    }
  }

  #use(server: Server): void {
    const { connection } = this;
    // The deadline of the pool has passed.
    if (connection.stream.destroyed) throw new Error('Connection terminated during the search');
    const { host, port } = server;
    const ssl = this.#servers.tlsOf(server);
    Object.assign(this, { host, port, ssl });
    Object.assign(connection, { ssl });
    this.#server = server;
  }
}
