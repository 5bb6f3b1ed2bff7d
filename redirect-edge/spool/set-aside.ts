/** Damaged parts of segments. They are kept in the root of the spools for analysis, within bounds. */
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { nullOn } from '../../ops/platform/errors.js';
import type { Segment } from './segment.js';

const suffix = '.bad';

interface SetAsideBounds {
  readonly files: number;
  readonly bytes: number;
}

/** The bounds of one root: eight segments of the default size. */
const defaultBounds: SetAsideBounds = { files: 1_000, bytes: 64 * 1_024 * 1_024 };

interface SetAsideFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: number;
}

const listSetAside = async (root: string): Promise<readonly SetAsideFile[]> => {
  const files: SetAsideFile[] = [];
  for (const name of await readdir(root)) {
    if (!name.endsWith(suffix)) continue;
    const path = join(root, name);
    // Another edge may have deleted it meanwhile.
    const stats = await nullOn(stat(path), 'ENOENT');
    if (stats) files.push({ path, bytes: stats.size, modifiedAt: stats.mtimeMs });
  }
  return files;
};

/** The number and size of the files that are set aside in a root. */
export const setAsideIn = async (root: string): Promise<SetAsideBounds> => {
  const files = await listSetAside(root);
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
};

/** Deletes the oldest files beyond the bounds, but never the newest file. */
export const boundSetAside = async (
  root: string,
  logger: Logger,
  bounds: SetAsideBounds = defaultBounds,
): Promise<void> => {
  const newestFirst = [...(await listSetAside(root))].sort((a, b) => b.modifiedAt - a.modifiedAt);
  let bytesSoFar = 0;
  for (const [index, file] of newestFirst.entries()) {
    bytesSoFar += file.bytes;
    if (index === 0 || (index < bounds.files && bytesSoFar <= bounds.bytes)) continue;
    await rm(file.path, { force: true });
    logger.error(
      { file: file.path, bytes: file.bytes, bounds },
      'the files that are set aside exceed their limit; an old one is deleted',
    );
  }
};

/**
 * Copies the bytes of a segment from `offset` up to `limit` to a file next to the spool folders, which survives the
 * deletion of its spool.
 *
 * @returns the path of the file
 */
export const setAside = async (
  segment: Segment,
  { spoolId, offset, limit }: { spoolId: string; offset: number; limit: number },
  logger: Logger,
): Promise<string> => {
  const root = dirname(dirname(segment.path));
  const name = basename(segment.path, '.seg');
  const copyPath = join(root, `${spoolId}.${name}.${offset}${suffix}`);
  await pipeline(
    createReadStream(segment.path, { start: offset, end: limit - 1 }),
    createWriteStream(copyPath, { mode: 0o600 }),
  );
  await boundSetAside(root, logger);
  return copyPath;
};
