import { join } from 'node:path';

/** Where things are in a data directory. */
export interface Layout {
  readonly dataDir: string;
  readonly home: string;
  /** PostgreSQL's own data directory; there only when complete. */
  readonly cluster: string;
  /** A cluster that initdb has not finished. */
  readonly unfinished: string;
  /** The superuser's password, mode 0600. */
  readonly password: string;
  /** PostgreSQL's output since its last start; the one before has `.1` behind its name. */
  readonly log: string;
  /** PostgreSQL's own account of itself: pid, port, state. */
  readonly postmasterPid: string;
}

export const layoutOf = (dataDir: string): Layout => {
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  return {
    dataDir,
    home,
    cluster,
    unfinished: join(home, 'cluster.unfinished'),
    password: join(home, 'password'),
    log: join(home, 'postgres.log'),
    postmasterPid: join(cluster, 'postmaster.pid'),
  };
};

export const superuser = 'linklog';

export const connectionUrl = (port: number, password: string): string =>
  // Without sslmode, a PGSSLMODE in the caller's environment would ask a local server for TLS.
  `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;
