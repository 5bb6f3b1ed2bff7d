import { randomUUID } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../errors.js';
import type { AcquireLock } from '../ports.js';

class LockHeld extends Error {
  readonly code = 'LOCK_HELD';
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
};

/** Puts a whole file in place, or throws EEXIST. */
const place = async (path: string): Promise<void> => {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, String(process.pid));
  await link(draft, path).finally(() => unlink(draft));
};

const heldIfExists = (error: unknown): never => {
  throw errorCode(error) === 'EEXIST' ? new LockHeld() : error;
};

/** Stands in for the platform's lock: a file with the owner's process id. */
export const acquireFileLock: AcquireLock = async (folder) => {
  const path = join(folder, 'lock');
  const release = () => unlink(path);
  try {
    await place(path);
    return { release };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  // Only who has the guard may take a dead owner's file away, so that nobody takes a live one's.
  const guard = `${path}.guard`;
  await place(guard).catch(heldIfExists);
  try {
    const owner = await readFile(path, 'utf8').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') throw new LockHeld();
      throw error;
    });
    if (isAlive(Number(owner))) throw new LockHeld();
    await unlink(path);
    await place(path).catch(heldIfExists);
    return { release };
  } finally {
    await unlink(guard);
  }
};
