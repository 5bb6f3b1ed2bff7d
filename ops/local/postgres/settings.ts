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
