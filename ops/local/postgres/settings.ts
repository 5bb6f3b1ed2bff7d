/** Given on the command line, so that they are always this version's and no file can contradict them. */
const settings = {
  listen_addresses: '127.0.0.1',
  // A stack's services have some 90 in all at most.
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',

  // What was acknowledged survives a power loss.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // One machine, no replicas: the least that crash recovery needs.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',

  // Reads by the backends themselves: three processes less.
  io_method: 'sync',
  // Parallel workers need shared memory of /dev/shm, of which a container has 64 MB by default; and
  // the machine's other cores belong to the edge.
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',

  // As much work as by default, in shorter stretches: what somebody waits for may share the core.
  autovacuum_vacuum_cost_delay: '0.5ms',
  vacuum_cost_limit: '50',

  // To stderr, which is a file. Failed statements are their clients' business: they would fill the log.
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
} as const;

/** @param socketDir the folder of its Unix socket; `null`: it has none */
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
