import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { nullOn } from '../../platform/errors.js';

/** Where things are in a data directory. */
export const layoutOf = (dataDir: string) => {
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  return {
    dataDir,
    home,
    /** PostgreSQL's own data directory; there only when complete. */
    cluster,
    /** A cluster that initdb has not finished. */
    unfinished: join(home, 'cluster.unfinished'),
    /** The superuser's password, mode 0600. */
    password: join(home, 'password'),
    /** PostgreSQL's output since its last start; the one before has `.1` behind its name. */
    log: join(home, 'postgres.log'),
    /** PostgreSQL's own record of itself: pid, port, state. */
    postmasterPid: join(cluster, 'postmaster.pid'),
  } as const;
};

export type ClusterLayout = ReturnType<typeof layoutOf>;

export const superuser = 'linklog';

export const connectionUrl = (port: number, password: string): string =>
  // Without sslmode, a PGSSLMODE in the caller's environment would ask a local server for TLS.
  `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;

const socketPrefix = '.s.PGSQL.';

/** Bytes of a socket's path, of 104 with its end on macOS, and 108 on Linux. */
const longestSocketPath = 103;

/** The folder of the Unix socket, which only the cluster's account and root can enter; `null`: its path is too long. */
export const socketDirOf = ({ cluster }: ClusterLayout, port: number): string | null =>
  Buffer.byteLength(join(cluster, `${socketPrefix}${port}`)) <= longestSocketPath ? cluster : null;

/** By the Unix socket, which costs half as much as TCP, where there is one. */
export const nearestUrl = (layout: ClusterLayout, port: number, password: string): string => {
  const socketDir = socketDirOf(layout, port);
  const url = connectionUrl(port, password);
  return socketDir === null ? url : `${url}&host=${encodeURIComponent(socketDir)}`;
};

/** Removes the sockets of servers that were killed. */
export const removeSockets = async ({ cluster }: ClusterLayout): Promise<void> => {
  const left = (await readdir(cluster)).filter((name) => name.startsWith(socketPrefix));
  await Promise.all(left.map((name) => rm(join(cluster, name), { force: true })));
};

const readText = (file: string): Promise<string | null> => nullOn(readFile(file, 'utf8'), 'ENOENT');

/** The superuser's password, or null where there is none. */
export const readPassword = async (layout: ClusterLayout): Promise<string | null> => {
  const password = await readText(layout.password);
  return password === '' ? null : password;
};

/** What PostgreSQL's pid file says, which may be out of date; null where there is none. */
export const readPostmasterPid = async (layout: ClusterLayout) => {
  const content = await readText(layout.postmasterPid);
  if (content === null) return null;
  // The lines are numbered in PostgreSQL's miscadmin.h, LOCK_FILE_LINE_*.
  const line = content.split('\n');
  const pid = Number(line[0]);
  return {
    /** 0 when the file does not say, as after a power loss. */
    pid: Number.isSafeInteger(pid) && pid > 0 ? pid : 0,
    port: Number(line[3] ?? 0),
    isReady: line[7]?.trim() === 'ready',
  };
};
