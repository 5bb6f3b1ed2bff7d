import { randomBytes } from 'node:crypto';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { syncPath } from '../../platform/files/new-file.js';
import { runToSuccess, type Account } from '../process/child.js';
import { explainFailure, type Binaries } from './binaries.js';
import { superuser, type ClusterLayout } from './layout.js';

const writeSecret = async (path: string, content: string): Promise<void> => {
  // Removed first, because the mode applies to a new file only.
  await rm(path, { force: true });
  await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true });
};

/**
 * Creates the cluster in a temporary directory and renames it when it is complete and on disk, so that a kill leaves no
 * partial cluster.
 */
export const createCluster = async (
  layout: ClusterLayout,
  account: Account | null,
  { initdb }: Binaries,
  logger: Logger,
): Promise<void> => {
  const startedAt = performance.now();
  const password = randomBytes(24).toString('base64url');
  // initdb reads a copy as PostgreSQL's account, which must not read the original.
  const passwordForInitdb = join(layout.home, 'password.initdb');
  await writeSecret(layout.password, password);
  await writeSecret(passwordForInitdb, password);
  try {
    await mkdir(layout.unfinished, { mode: 0o700 });
    if (account !== null) {
      await chown(passwordForInitdb, account.uid, account.gid);
      await chown(layout.unfinished, account.uid, account.gid);
    }
    const args = [
      `--pgdata=${layout.unfinished}`,
      `--username=${superuser}`,
      `--pwfile=${passwordForInitdb}`,
      '--encoding=UTF8',
      '--locale=C',
      '--auth=scram-sha-256',
      '--no-instructions',
    ];
    await runToSuccess(account, initdb, args, {
      // The next start finds an orphaned initdb by its working directory.
      dir: layout.unfinished,
      failure: 'PostgreSQL could not create its data directory',
      explain: (error) => explainFailure(initdb, error),
    });
  } finally {
    await rm(passwordForInitdb, { force: true });
  }
  await rename(layout.unfinished, layout.cluster);
  await syncPath(layout.home);
  const ms = Math.round(performance.now() - startedAt);
  logger.info({ cluster: layout.cluster, ms }, 'new PostgreSQL cluster created');
};

/** Passed on the command line, so that no configuration file of another version overrides them. */
const settings = {
  listen_addresses: '127.0.0.1',
  // The services of a stack use about 90 connections at most.
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',

  // Acknowledged transactions survive a power loss.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // There are no replicas, so WAL contains only what crash recovery needs.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',

  // Backends read synchronously, which saves three worker processes.
  io_method: 'sync',
  // Parallel workers allocate shared memory in /dev/shm, which is 64 MB in a container by default, and would take the
  // other cores from the edge.
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',

  // The default rate of vacuum in shorter bursts, so that a request on the same core waits less.
  autovacuum_vacuum_cost_delay: '0.5ms',
  vacuum_cost_limit: '50',

  // stderr is a file. Clients report their failed statements, which would fill the log.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
} as const;

/** @param socketDir the directory of its Unix socket; `null` for none */
export const postgresArguments = (
  cluster: string,
  port: number,
  socketDir: string | null,
): string[] => [
  '-D',
  cluster,
  ...Object.entries({ port, unix_socket_directories: socketDir ?? '', ...settings }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  ),
];
