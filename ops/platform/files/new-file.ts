import { randomBytes } from 'node:crypto';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { hasCode, nullOn } from '../errors.js';

/** There is something already where a file is to be made. */
export class FileExists extends Error {
  readonly code = 'FILE_EXISTS';

  constructor(file: string) {
    super(`${file} exists already`);
  }
}

/** A file cannot be made or written; the cause is the system's. */
export class CannotWrite extends Error {
  readonly code = 'CANNOT_WRITE';

  constructor(file: string, cause: unknown) {
    super(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** Whether there is anything of this name, a broken link too. */
export const pathExists = async (file: string): Promise<boolean> =>
  (await nullOn(lstat(file), 'ENOENT')) !== null;

/** Puts a file on the disk. A rename, and a link, are there once their folder is. */
export const syncPath = async (file: string): Promise<void> => {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Gives the file its name; fails where the name is taken, unless it may be replaced. */
const putInPlace = async (from: string, to: string, replace: boolean): Promise<void> => {
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
 * Makes a file that its user alone may read, whole or not at all: it is written beside its place,
 * and gets its name when all of it is on the disk.
 *
 * @throws FileExists, before `write` if it can be known by then; CannotWrite; what `write` threw
 */
export const writeNewFile = async (
  file: string,
  { replace }: { readonly replace: boolean },
  write: (append: (chunk: Buffer) => Promise<void>) => Promise<void>,
): Promise<void> => {
  /** What the system refuses is told with the file's name. */
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
    await attempt(putInPlace(unfinished, file, replace));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await attempt(syncPath(path.dirname(file)));
};
