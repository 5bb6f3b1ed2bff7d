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
import { createCluster } from './cluster.js';
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
import { postgresArguments } from './settings.js';

/** Recovery after a crash replays at most 1 GB of log (max_wal_size), seconds on any disk. */
const readyWithinMs = 180_000;

/** How long processes of a PostgreSQL whose postmaster has ended need to notice that (ms). */
const lastProcessEndsMs = 5_000;

/** "Fast" shutdown, then "immediate", which costs a recovery at the next start. */
const stopSteps = [
  { signal: 'SIGINT', waitMs: 5_000 },
  { signal: 'SIGQUIT', waitMs: 3_000 },
] as const;

/**
 * Whether this very PostgreSQL answers. The password is offered only when PostgreSQL itself says that
 * the port is its own: another process may have taken it meanwhile.
 */
const postgresAnswers = async (
  layout: ClusterLayout,
  pid: number,
  url: string,
): Promise<boolean> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded?.pid !== pid || !recorded.isReady) return false;
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // An error that arrives after a failed connect must find a listener, or it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    // Tried again until the deadline; an end of the server is seen as such.
    return false;
  } finally {
    await client.end();
  }
};

/**
 * A batch takes megabytes for a moment. glibc would give them back to the system after each, and get them again, zeroed
 * page by page, for the next.
 */
const serverEnv = {
  ...minimalEnv,
  MALLOC_MMAP_THRESHOLD_: String(32 * 1_024 ** 2),
  MALLOC_TRIM_THRESHOLD_: String(32 * 1_024 ** 2),
};

/** @throws ServerUnavailable when the cluster was made by another major version: it cannot be opened */
const requireSameMajor = async ({ cluster }: ClusterLayout, version: string): Promise<void> => {
  const found = (await nullOn(readFile(join(cluster, 'PG_VERSION'), 'utf8'), 'ENOENT'))?.trim();
  const [major] = version.split('.');
  if (found === undefined || found === major) return;
  throw new ServerUnavailable(
    `${cluster} is of PostgreSQL ${found}, and this Linklog has PostgreSQL ${major}: start the Linklog ` +
      `with PostgreSQL ${found} on it for "linklog backup", then "linklog restore" into a new DATA_DIR`,
  );
};

/** @throws ServerFailed where a PostgreSQL of this cluster still runs: only the processes of this container were ended */
const requireEnded = async (layout: ClusterLayout): Promise<void> => {
  if (!(await pathExists(layout.home))) return;
  try {
    (await acquireLock(layout.home, { waitMs: lastProcessEndsMs })).release();
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new ServerFailed(
      `the PostgreSQL of ${layout.cluster} still runs in another container: end that container`,
    );
  }
};

/**
 * Starts the PostgreSQL that lives in `<dataDir>/postgres`, made at the first start, after ending what
 * a killed process left running there. The caller has the lock on `dataDir`, which must exist.
 *
 * @throws ServerUnavailable when it cannot run on this system or in this place
 * @throws ServerFailed when it should and does not
 */
export const startEmbeddedPostgres = async (options: {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly findPort?: () => Promise<number>;
  /** All that the server gets of an environment. */
  readonly env?: Readonly<Record<string, string>>;
}) => {
  const { logger, findPort = freePort, env = serverEnv } = options;
  const begun = performance.now();
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
      `${layout.password} is missing, and without it nobody can open ${layout.cluster}; put it back from a backup`,
    );
  }
  await removeSockets(layout);
  const program = binaries.postgres;
  const server = await startServer({
    port: findPort,
    begin: async (port) => {
      // PostgreSQL's processes have the lock: it lasts until the last of them has ended, wherever that is.
      const lock = await acquireLock(layout.home, { waitMs: lastProcessEndsMs });
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
      return untilReady(child, () => postgresAnswers(layout, child.pid, url), readyWithinMs);
    },
    // When it died by itself, its children may not have noticed yet.
    sweep: () => endOrphanPostgres(layout, account, logger),
  });
  const { pid, port } = server;
  const ms = Math.round(performance.now() - begun);
  logger.info({ postgresPid: pid, port, ms }, 'PostgreSQL is ready');
  // The URLs have the superuser's password: they are secrets.
  return Object.assign(server, {
    url: connectionUrl(port, password),
    /** For processes on this machine that may enter the cluster. */
    nearestUrl: nearestUrl(layout, port, password),
  });
};

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

/**
 * Where the PostgreSQL of this data directory answers now, for command-line tools of the same user.
 *
 * @returns a URL with the superuser's password, or null when it is not running (or not ready yet)
 * @throws ServerUnavailable, or the system's EACCES, when the directory is another user's
 */
export const runningPostgresUrl = async (dataDir: string): Promise<string | null> => {
  const dir = await nullOn(realpath(dataDir), 'ENOENT');
  if (dir === null) return null;
  const layout = layoutOf(dir);
  const account = await postgresAccount(layout);
  const recorded = await readPostmasterPid(layout);
  if (!recorded?.isReady) return null;
  // The file outlives a kill, and its pid may be another process's by now.
  if (!(await postgresPids(layout, account)).includes(recorded.pid)) return null;
  const password = await readPassword(layout);
  return password === null ? null : connectionUrl(recorded.port, password);
};
