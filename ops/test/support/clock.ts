import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { minimalEnv } from '../../local/process/child.js';
import { endTestServer, startTestServer, testDatabase } from './database.js';

/** The path on Debian; the loader expands `$LIB`. */
const library = path.join('/usr/$LIB', 'faketime', 'libfaketime.so.1');

/**
 * The environment of a process whose clock `setClock` sets. A relative file is one of its working directory.
 *
 * libfaketime shares a semaphore with the children of a process, and a child that is killed while it holds the semaphore
 * would stop the others for ever. Node.js therefore does not pass its name on.
 */
export const clockEnvironment = (file: string): Readonly<Record<string, string>> => ({
  LD_PRELOAD: library,
  NODE_OPTIONS: '--import=data:text/javascript,delete(process.env.FAKETIME_SHARED)',
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  FAKETIME_CACHE_DURATION: '1',
});

/** Sets the difference between the clock of a file and the real time. */
export const setClock = async (file: string, seconds: number): Promise<void> => {
  await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}s\n`);
  await rename(`${file}.new`, file);
};

/** A database on a separate PostgreSQL, with a clock that the test sets. */
export const clockedDatabase = async (name: string) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-clock-'));
  const file = path.join(dir, 'clock');
  const setClockOffset = (seconds: number): Promise<void> => setClock(file, seconds);
  await setClockOffset(0);
  // PostgreSQL runs as another user.
  await chmod(dir, 0o755);
  const server = await startTestServer({
    ...minimalEnv,
    ...clockEnvironment(file),
    FAKETIME_NO_CACHE: '1',
  });
  const database = await testDatabase(name, server);
  return {
    ...database,
    setClockOffset,
    async drop() {
      await setClockOffset(0);
      await database.drop();
      await endTestServer(server);
      await rm(dir, { recursive: true });
    },
  };
};
