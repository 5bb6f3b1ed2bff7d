import { execFile } from 'node:child_process';
import { appendFile, chown, copyFile, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { chooseAccount, makeHome, postgresAccount } from '../../local/postgres/account.js';
import { installedPackage, provideBinaries } from '../../local/postgres/binaries.js';
import { createCluster } from '../../local/postgres/cluster.js';
import { layoutOf, readPassword, superuser } from '../../local/postgres/layout.js';
import { postgresPids } from '../../local/postgres/orphans.js';
import { launch, minimalEnv, stopChild, untilReady } from '../../local/process/child.js';
import { freePort } from '../../local/process/server.js';
import { nullOnThrow } from '../../platform/errors.js';
import { createLogger } from '../../platform/logging.js';
import type { KeyPair } from './certificates.js';
import { temporaryDir } from './process.js';

const logger = createLogger('silent');
const run = promisify(execFile);

interface ServerOptions {
  /** Any free port by default. */
  readonly port?: number;
  /** Settings in addition to those of a test server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The lines of pg_hba.conf for TCP. By default, all need a password. */
  readonly hba?: readonly string[];
  /** Makes the server offer TLS. */
  readonly tls?: KeyPair & { readonly ca: string };
  /** The package of PostgreSQL; by default that of Linklog. */
  readonly installed?: Awaited<ReturnType<typeof installedPackage>>;
}

/** A PostgreSQL with settings of a test, which Linklog does not manage. */
export interface PostgresServer {
  readonly port: number;
  readonly password: string;
  /** The URL of the superuser. */
  readonly url: string;
  readonly cluster: string;
  /** Runs a statement as the superuser. */
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
  /** Kills (-9) all its processes. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const querying =
  (url: string): PostgresServer['query'] =>
  async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  };

type Copy = (
  layout: ReturnType<typeof layoutOf>,
  account: Awaited<ReturnType<typeof chooseAccount>>,
) => Promise<void>;

const start = async (
  { settings = {}, hba, tls, installed, ...options }: ServerOptions,
  create?: Copy,
): Promise<PostgresServer> => {
  const dataDir = await realpath(await temporaryDir());
  const layout = layoutOf(dataDir);
  const account = await chooseAccount(await postgresAccount(layout), logger);
  await makeHome(layout, account, null);
  const source = installed ?? (await installedPackage());
  const binaries = await provideBinaries(layout.home, logger, source);
  await (create?.(layout, account) ?? createCluster(layout, account, binaries, logger));
  const own = async (file: string): Promise<string> => {
    if (account !== null) await chown(file, account.uid, account.gid);
    return file;
  };
  const inCluster = (name: string): string => path.join(layout.cluster, name);
  if (hba) await writeFile(inCluster('pg_hba.conf'), hba.join('\n'));
  const encryption: Record<string, string> = {};
  if (tls) {
    const files = { ssl_cert_file: tls.cert, ssl_key_file: tls.key, ssl_ca_file: tls.ca };
    for (const [setting, file] of Object.entries(files)) {
      const copy = inCluster(path.basename(file));
      await copyFile(file, copy);
      encryption[setting] = await own(copy);
    }
  }
  const port = options.port ?? (await freePort());
  const given = {
    ...{ port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' },
    ...{ max_connections: '200', shared_buffers: '32MB', fsync: 'off' },
    ...(tls && { ssl: 'on', ...encryption }),
    ...settings,
  };
  const child = await launch({
    name: 'PostgreSQL',
    program: binaries.postgres,
    args: ['-D', layout.cluster, ...Object.entries(given).flatMap(([n, v]) => ['-c', `${n}=${v}`])],
    dir: layout.cluster,
    account,
    env: minimalEnv,
    logFile: layout.log,
    logger,
    tied: true,
    stopSteps: [{ signal: 'SIGINT', waitMs: 10_000 }],
  });
  const password = (await readPassword(layout)) ?? '';
  const url = `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`;
  const query = querying(`${url}?sslmode=disable`);
  await untilReady(child, async () => {
    // `untilReady` retries until its deadline, and detects an exit.
    return query('SELECT').then(
      () => true,
      () => false,
    );
  });
  return {
    ...{ port, password, url, query },
    cluster: layout.cluster,
    async kill() {
      for (const pid of await postgresPids(layout, account)) {
        // It may have ended with the postmaster.
        nullOnThrow(() => process.kill(pid, 'SIGKILL'), 'ESRCH');
      }
      await child.exited;
    },
    async stop() {
      await stopChild(child);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

export const startPostgresServer = (options: ServerOptions = {}): Promise<PostgresServer> =>
  start(options);

/** Starts a streaming standby named `standby`, from a copy of the primary's files. */
export const startStandby = (
  primary: PostgresServer,
  options: Pick<ServerOptions, 'port'> = {},
): Promise<PostgresServer> =>
  start(options, async (layout, account) => {
    const client = new pg.Client({ connectionString: `${primary.url}?sslmode=disable` });
    await client.connect();
    await client.query(`SELECT pg_backup_start('standby', fast => true)`);
    const home = path.dirname(primary.cluster);
    await run('cp', ['-a', primary.cluster, path.join(home, 'password'), layout.home]);
    const { rows } = await client.query<{ label: string }>(
      `SELECT labelfile AS label FROM pg_backup_stop(wait_for_archive => false)`,
    );
    await client.end();
    await rm(path.join(layout.cluster, 'postmaster.pid'));
    const write = async (name: string, text: string): Promise<void> => {
      const file = path.join(layout.cluster, name);
      await appendFile(file, text);
      if (account !== null) await chown(file, account.uid, account.gid);
    };
    await write('backup_label', rows[0]?.label ?? '');
    await write('standby.signal', '');
    const { port, password } = primary;
    const address = `host=127.0.0.1 port=${port} user=${superuser} password=${password}`;
    await write(
      'postgresql.auto.conf',
      `primary_conninfo = '${address} sslmode=disable application_name=standby'\n`,
    );
  });
