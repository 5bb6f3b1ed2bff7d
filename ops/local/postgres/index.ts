import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { Logger } from 'pino';
import { nullOn } from '../../platform/errors.js';
import { pathExists } from '../../platform/files/new-file.js';
import { acquireLock, LockHeld } from '../../platform/process/process-lock.js';
import { launch, minimalEnv, untilReady } from '../process/child.js';
import { ServerFailed, ServerUnavailable } from '../process/errors.js';
import { freePort, startServer } from '../process/server.js';
import { chooseAccount, makeHome, postgresAccount } from './account.js';
import { explainFailure, installedPackage, provideBinaries } from './binaries.js';
import { createCluster, postgresArguments } from './cluster.js';
import {
  connectionUrl,
  layoutOf,
  nearestUrl,
  readPassword,
  readPostmasterPid,
  removeSockets,
  socketDirOf,
  type ClusterLayout,
} from './layout.js';
import { endOrphanPostgres, postgresPids, removeUnfinished } from './orphans.js';

/** Crash recovery replays 1 GB of WAL at most (max_wal_size), which takes seconds. */
const readyTimeoutMs = 180_000;

/** Time within which the child processes of a dead postmaster exit (ms). */
const exitTimeoutMs = 5_000;

/** "Fast" shutdown, then "immediate", after which the next start runs a recovery. */
const stopSteps = [
  { signal: 'SIGINT', waitMs: 5_000 },
  { signal: 'SIGQUIT', waitMs: 3_000 },
] as const;

/**
 * Whether the PostgreSQL with this pid is ready. Another process may have taken the port, so the password is sent only
 * after PostgreSQL has recorded that it is ready.
 */
const isPostgresReady = async (
  layout: ClusterLayout,
  pid: number,
  url: string,
): Promise<boolean> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded?.pid !== pid || !recorded.isReady) return false;
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // Without a listener, an error after a failed connect would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    // `untilReady` retries until its deadline and detects an exit of the server.
    return false;
  } finally {
    await client.end();
  }
};

/** A batch allocates megabytes. By default, glibc would return them to the kernel after each batch. */
const serverEnv = {
  ...minimalEnv,
  MALLOC_MMAP_THRESHOLD_: String(32 * 1_024 ** 2),
  MALLOC_TRIM_THRESHOLD_: String(32 * 1_024 ** 2),
};

/** @throws ServerUnavailable if another major version created the cluster */
const requireSameMajor = async ({ cluster }: ClusterLayout, version: string): Promise<void> => {
  const found = (await nullOn(readFile(join(cluster, 'PG_VERSION'), 'utf8'), 'ENOENT'))?.trim();
  const [major] = version.split('.');
  if (found === undefined || found === major) return;
  throw new ServerUnavailable(
    `${cluster} is of PostgreSQL ${found}, and this Linklog contains PostgreSQL ${major}: run "linklog backup" ` +
      `with the Linklog of PostgreSQL ${found}, then "linklog restore" into a new DATA_DIR`,
  );
};

/** @throws ServerFailed if a PostgreSQL of this cluster still runs in another container, whose processes we cannot end */
const requireEnded = async (layout: ClusterLayout): Promise<void> => {
  if (!(await pathExists(layout.home))) return;
  try {
    (await acquireLock(layout.home, { waitMs: exitTimeoutMs })).release();
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new ServerFailed(
      `the PostgreSQL of ${layout.cluster} still runs in another container: end that container`,
    );
  }
};

/**
 * Starts the PostgreSQL in `<dataDir>/postgres`, which the first start creates, after terminating the processes that a
 * killed supervisor left running there. The caller holds the lock on `dataDir`, which must exist.
 *
 * @throws ServerUnavailable if it cannot run on this system or in this directory
 * @throws ServerFailed if it fails to start
 */
export const startEmbeddedPostgres = async (options: {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly findPort?: () => Promise<number>;
  /** The server's complete environment. */
  readonly env?: Readonly<Record<string, string>>;
}) => {
  const { logger, findPort = freePort, env = serverEnv } = options;
  const startedAt = performance.now();
  const installed = await installedPackage();
  const layout = layoutOf(await realpath(options.dataDir));
  const owner = await postgresAccount(layout);
  await requireSameMajor(layout, installed.version);
  await endOrphanPostgres(layout, owner, logger);
  await requireEnded(layout);
  const account = await chooseAccount(owner, logger);
  await removeUnfinished(layout, account, logger);
  await makeHome(layout, account, owner);
  const binaries = await provideBinaries(layout.home, logger, installed);
  if (!(await pathExists(layout.cluster))) await createCluster(layout, account, binaries, logger);
  const password = await readPassword(layout);
  if (password === null) {
    throw new ServerFailed(
      `${layout.password}, the password of ${layout.cluster}, is missing; restore it from a backup`,
    );
  }
  await removeSockets(layout);
  const program = binaries.postgres;
  const server = await startServer({
    port: findPort,
    begin: async (port) => {
      // PostgreSQL's processes inherit the lock, so it is held until the last of them exits, in any container.
      const lock = await acquireLock(layout.home, { waitMs: exitTimeoutMs });
      try {
        const child = await launch({
          name: 'PostgreSQL',
          program,
          args: postgresArguments(layout.cluster, port, socketDirOf(layout, port)),
          dir: layout.cluster,
          account,
          env,
          inherits: lock.fd,
          logFile: layout.log,
          logger,
          stopSteps,
          explain: (error) => explainFailure(program, error),
        });
        lock.handOver();
        return child;
      } catch (error) {
        lock.release();
        throw error;
      }
    },
    ready: (child, port) => {
      const url = connectionUrl(port, password);
      return untilReady(child, () => isPostgresReady(layout, child.pid, url), readyTimeoutMs);
    },
    // The children of a postmaster that crashed may still run.
    sweep: () => endOrphanPostgres(layout, account, logger),
  });
  const { pid, port } = server;
  const ms = Math.round(performance.now() - startedAt);
  logger.info({ postgresPid: pid, port, ms }, 'PostgreSQL is ready');
  // The URLs contain the superuser's password.
  return Object.assign(server, {
    url: connectionUrl(port, password),
    /** Uses the Unix socket if possible; only the cluster's account and root can enter its directory. */
    nearestUrl: nearestUrl(layout, port, password),
  });
};

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

/**
 * Returns the URL of the running PostgreSQL of this data directory, with the superuser's password.
 *
 * @returns null if it is not running or not ready yet
 * @throws ServerUnavailable or EACCES if the directory belongs to another user
 */
export const runningPostgresUrl = async (dataDir: string): Promise<string | null> => {
  const dir = await nullOn(realpath(dataDir), 'ENOENT');
  if (dir === null) return null;
  const layout = layoutOf(dir);
  const account = await postgresAccount(layout);
  const recorded = await readPostmasterPid(layout);
  if (!recorded?.isReady) return null;
  // A killed PostgreSQL leaves the file, and another process may have its pid.
  if (!(await postgresPids(layout, account)).includes(recorded.pid)) return null;
  const password = await readPassword(layout);
  return password === null ? null : connectionUrl(recorded.port, password);
};
