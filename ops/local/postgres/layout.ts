import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { nullOn } from '../../platform/errors.js';

export const layoutOf = (dataDir: string) => {
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  return {
    dataDir,
    home,
    /** PostgreSQL's own data directory; exists only when complete. */
    cluster,
    /** A cluster that initdb has not finished. */
    unfinished: join(home, 'cluster.unfinished'),
    /** The superuser's password, mode 0600. */
    password: join(home, 'password'),
    /** PostgreSQL's output since its last start; the previous file is named `postgres.log.1`. */
    log: join(home, 'postgres.log'),
    postmasterPid: join(cluster, 'postmaster.pid'),
  } as const;
};

export type ClusterLayout = ReturnType<typeof layoutOf>;

export const superuser = 'linklog';

export const connectionUrl = (port: number, password: string): string =>
  // Without sslmode, PGSSLMODE of the caller's environment would apply.
  `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;

const socketPrefix = '.s.PGSQL.';

/** Bytes; the limit is 104 on macOS and 108 on Linux, with the terminating null. */
const maxSocketPathBytes = 103;

/** The directory of the Unix socket, which only the cluster's account and root can enter; `null` if its path is too long. */
export const socketDirOf = ({ cluster }: ClusterLayout, port: number): string | null =>
  Buffer.byteLength(join(cluster, `${socketPrefix}${port}`)) <= maxSocketPathBytes ? cluster : null;

/** Uses the Unix socket if possible, which needs half the CPU time of TCP. */
export const nearestUrl = (layout: ClusterLayout, port: number, password: string): string => {
  const socketDir = socketDirOf(layout, port);
  const url = connectionUrl(port, password);
  return socketDir === null ? url : `${url}&host=${encodeURIComponent(socketDir)}`;
};

export const removeSockets = async ({ cluster }: ClusterLayout): Promise<void> => {
  const left = (await readdir(cluster)).filter((name) => name.startsWith(socketPrefix));
  await Promise.all(left.map((name) => rm(join(cluster, name), { force: true })));
};

const readText = (file: string): Promise<string | null> => nullOn(readFile(file, 'utf8'), 'ENOENT');

export const readPassword = async (layout: ClusterLayout): Promise<string | null> => {
  const password = await readText(layout.password);
  return password === '' ? null : password;
};

/** Reads PostgreSQL's pid file, which may be stale; null if there is none. */
export const readPostmasterPid = async (layout: ClusterLayout) => {
  const content = await readText(layout.postmasterPid);
  if (content === null) return null;
  // The lines are numbered in PostgreSQL's miscadmin.h, LOCK_FILE_LINE_*.
  const line = content.split('\n');
  const pid = Number(line[0]);
  return {
    /** 0 if the file is empty, as after a power loss. */
    pid: Number.isSafeInteger(pid) && pid > 0 ? pid : 0,
    port: Number(line[3] ?? 0),
    isReady: line[7]?.trim() === 'ready',
  };
};
