import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { freePort } from '../../local/process/server.js';
import { temporaryDir } from './process.js';
import { codeIn } from './documented-code.js';
import { eventually } from './waiting.js';

const answers = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    // Not yet: the caller retries until its deadline.
    return false;
  }
};

/** Starts PgBouncer with the configuration of ops/docs/postgres.md, in this mode. */
export const startPooler = async (
  database: string,
  mode: 'session' | 'transaction' | 'statement' = 'session',
) => {
  const dir = await temporaryDir();
  const url = new URL(database);
  const server = `host=${url.hostname} port=${url.port}`;
  const users = path.join(dir, 'userlist.txt');
  url.port = String(await freePort());
  const documented = codeIn('postgres.md', 'ini')
    .replace('host=10.0.0.5 port=5432', server)
    .replace('listen_port = 6432', `listen_port = ${url.port}`)
    .replace('/etc/pgbouncer/userlist.txt', users)
    .replace('pool_mode = session', `pool_mode = ${mode}`);
  const file = path.join(dir, 'pgbouncer.ini');
  await writeFile(file, `${documented}unix_socket_dir =\n`);
  await writeFile(users, `"${url.username}" "${url.password}"\n`);
  // It refuses to run as root, and reads its files as the user that it becomes.
  await chmod(dir, 0o755);
  const start = async () => {
    const user = process.getuid?.() === 0 ? ['-u', 'daemon'] : [];
    const child = spawn('pgbouncer', ['-q', ...user, file], { stdio: 'ignore' });
    await eventually('PgBouncer responds', () => answers(url.href));
    return child;
  };
  let child = await start();
  const stop = async (): Promise<void> => {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  };
  return {
    url: url.href,
    /** Kills it (-9) and starts another one. */
    async restart(): Promise<void> {
      await stop();
      child = await start();
    },
    stop,
  };
};

export type Pooler = Awaited<ReturnType<typeof startPooler>>;
