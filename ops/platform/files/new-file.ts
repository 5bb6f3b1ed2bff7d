import { randomBytes } from 'node:crypto';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { hasCode, nullOn } from '../errors.js';

export class FileExists extends Error {
  readonly code = 'FILE_EXISTS';

  constructor(file: string) {
    super(`${file} exists already`);
  }
}

class CannotWrite extends Error {
  readonly code = 'CANNOT_WRITE';

  constructor(file: string, cause: unknown) {
    super(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** Whether the path exists, even as a broken symbolic link. */
export const pathExists = async (file: string): Promise<boolean> =>
  (await nullOn(lstat(file), 'ENOENT')) !== null;

/** Syncs a file to disk. A rename or a link is synced with its directory. */
export const syncPath = async (file: string): Promise<void> => {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** @throws FileExists unless an existing file may be replaced */
const moveTo = async (from: string, to: string, replace: boolean): Promise<void> => {
  if (replace) {
    await rename(from, to);
    return;
  }
  try {
    await link(from, to);
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? new FileExists(to) : error;
  }
  await rm(from);
};

/**
 * Creates a file atomically, readable by its owner only: writes a temporary file in the same directory, syncs and renames
 * it.
 *
 * @throws FileExists; CannotWrite; the error of `write`
 */
export const writeNewFile = async (
  file: string,
  { replace }: { readonly replace: boolean },
  write: (append: (chunk: Buffer) => Promise<void>) => Promise<void>,
): Promise<void> => {
  const attempt = async <Value>(work: Promise<Value>): Promise<Value> => {
    try {
      return await work;
    } catch (error) {
      throw error instanceof FileExists ? error : new CannotWrite(file, error);
    }
  };
  if (!replace && (await attempt(pathExists(file)))) throw new FileExists(file);
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  const handle = await attempt(open(unfinished, 'wx', 0o600));
  try {
    try {
      await write((chunk) => attempt(handle.writeFile(chunk)));
      await attempt(handle.sync());
    } finally {
      await handle.close();
    }
    await attempt(moveTo(unfinished, file, replace));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await attempt(syncPath(path.dirname(file)));
};
