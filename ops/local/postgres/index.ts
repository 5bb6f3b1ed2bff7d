import { realpath } from 'node:fs/promises';
import type { Logger } from 'pino';
import { postgresAccount } from './account.js';
import { provideBinaries } from './binaries.js';
import { clusterExists, createCluster, readPassword } from './cluster.js';
import { ServerFailed } from './errors.js';
import { freePort } from './free-port.js';
import { connectionUrl, layoutOf } from './layout.js';
import { boundLogFile, openLogFile, tailOf } from './log-file.js';
import { installedPackage } from './native-package.js';
import { removeUnfinished, stopOrphans } from './orphans.js';
import { makeHome } from './reach.js';
import { describeExit, startServer, stopServer } from './server.js';

export { ServerFailed, ServerUnavailable } from './errors.js';
export { runningPostgresUrl } from './running.js';

export interface EmbeddedPostgres {
  /** `postgres://…` with the superuser's password: a secret. */
  readonly url: string;
  readonly pid: number;
  /** Resolves once PostgreSQL has ended, by `stop` or by itself; never rejects. */
  readonly exited: Promise<PostgresExit>;
  /** Resolves when no process of it is left: 20 ms as a rule, 8 s when it must be killed. Idempotent. */
  stop(): Promise<void>;
}

export type PostgresExit =
  | { readonly status: 'stopped' }
  /** `reason` is one line (`signal SIGKILL`), `output` the last lines of PostgreSQL's log. */
  | { readonly status: 'died'; readonly reason: string; readonly output: string };

/**
 * Starts the PostgreSQL that lives in `<dataDir>/postgres`, made at the first start, after ending what
 * a killed process left running there. The caller has the lock on `dataDir`, which must exist.
 *
 * @throws ServerUnavailable when it cannot run on this system or in this place
 * @throws ServerFailed when it should and does not
 */
export const startEmbeddedPostgres = async (options: {
  dataDir: string;
  logger: Logger;
  /** By default any free one. */
  port?: number;
}): Promise<EmbeddedPostgres> => {
  const { logger, port } = options;
  const begin = performance.now();
  const installed = await installedPackage();
  const layout = layoutOf(await realpath(options.dataDir));
  const account = await postgresAccount(layout);
  await stopOrphans(layout, account, logger);
  await removeUnfinished(layout, account);
  await makeHome(layout, account);
  const binaries = await provideBinaries(layout.home, logger, installed);
  if (!(await clusterExists(layout))) await createCluster(layout, account, binaries, logger);
  const password = await readPassword(layout);
  if (password === null) {
    throw new ServerFailed(
      `${layout.password} is missing, and without it nobody can open ${layout.cluster}; put it back from a backup`,
      {},
    );
  }

  const log = await openLogFile(layout.log);
  const server = await startServer({
    layout,
    account,
    binaries,
    password,
    log,
    logger,
    nextPort: port === undefined ? freePort : () => Promise.resolve(port),
  }).finally(() => {
    log.close();
  });
  const unbound = boundLogFile(layout.log, logger);
  const ms = Math.round(performance.now() - begin);
  logger.info({ postgresPid: server.pid, port: server.port, ms }, 'PostgreSQL is ready');

  let stopping: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await stopServer(server);
    // When it died by itself, its children may not have noticed yet.
    await stopOrphans(layout, account, logger);
  };
  const exited = server.exited.then(async (exit): Promise<PostgresExit> => {
    unbound();
    if (stopping !== null) return { status: 'stopped' };
    const output = await tailOf(layout.log).catch((error: unknown) => `(no log: ${String(error)})`);
    return { status: 'died', reason: describeExit(exit), output };
  });
  return {
    url: connectionUrl(server.port, password),
    pid: server.pid,
    exited,
    stop: () => (stopping ??= stop()),
  };
};
