import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { FileExists, pathExists, syncPath } from '../platform/files/new-file.js';
import { nullOn } from '../platform/errors.js';

/** The name of a backup has the time at which it began. Only verified ones have this name. */
const namePattern = /^linklog-(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\dZ)\.backup$/;

const nameAt = (time: Date): string =>
  `linklog-${time.toISOString().replace(/\.\d+/, '').replaceAll(':', '-')}.backup`;

const timeOf = (name: string): number => Date.parse(name.replace(namePattern, '$1:$2:$3'));

/** What a killed backup left; another one may still write a recent one. */
const remainder = /^linklog-[\dTZ-]+\.backup\.unverified/;
const remainderLifeMs = 86_400_000;

/** The names of the verified backups in a folder, the oldest first; none if it cannot be read. */
const namesIn = async (dir: string): Promise<readonly string[]> => {
  const names = await nullOn(readdir(dir), 'ENOENT', 'ENOTDIR', 'EACCES');
  return (names ?? []).filter((name) => namePattern.test(name)).sort();
};

/** When the newest backup in a folder began (ms since 1970); 0: there is none. */
export const newestBackup = async (dir: string): Promise<number> => {
  const name = (await namesIn(dir)).at(-1);
  return name === undefined ? 0 : timeOf(name);
};

/**
 * Adds a backup to a folder, which is created if necessary, and deletes the oldest ones.
 *
 * @param write writes and verifies the backup in a file with another name, which is removed if it rejects
 * @param keep how many backups stay, with the new one
 * @returns the names of the new one and the deleted ones, and what `write` returned
 * @throws FileExists for a second backup in a second; CannotWrite; the error of `write`
 */
export const addBackup = async <Outcome>(
  dir: string,
  keep: number,
  write: (file: string) => Promise<Outcome>,
  now = new Date(),
) => {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = path.join(dir, nameAt(now));
  if (await pathExists(file)) throw new FileExists(file);
  const unverified = `${file}.unverified`;
  let outcome;
  try {
    outcome = await write(unverified);
    await rename(unverified, file);
    await syncPath(dir);
  } catch (error) {
    await rm(unverified, { force: true });
    throw error;
  }
  const remainders = (await readdir(dir)).filter(
    (name) =>
      remainder.test(name) &&
      timeOf(name.replace(/\.unverified.*/, '')) < now.getTime() - remainderLifeMs,
  );
  const deleted = [...(await namesIn(dir)).slice(0, -keep), ...remainders];
  for (const name of deleted) await rm(path.join(dir, name), { force: true });
  return { file, deleted, outcome };
};
