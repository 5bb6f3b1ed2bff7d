import { createReadStream, openSync } from 'node:fs';
import { copyFile, rename, stat, truncate } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { nullOn } from '../../platform/errors.js';

const maxBytes = 8 * 1024 * 1024;
const checkMs = 30_000;
const tailBytes = 16 * 1024;

/**
 * Sets the last run's log aside as `<path>.1` and begins a new one. The server writes to it itself, so
 * nothing is lost when we are killed.
 *
 * @returns a file descriptor for the server's stdout and stderr
 */
export const openLogFile = async (path: string): Promise<number> => {
  await nullOn(rename(path, `${path}.1`), 'ENOENT');
  // 'ax': appending, so that cutting the file leaves no hole; and never through a link laid there.
  return openSync(path, 'ax', 0o600);
};

/** Moves what a log holds to `<path>.1` when it is longer than `limit` bytes. */
export const cutLogFile = async (path: string, limit = maxBytes): Promise<void> => {
  if ((await stat(path)).size <= limit) return;
  // Copied, not renamed: the server would go on writing to the file under its new name.
  await copyFile(path, `${path}.1`);
  await truncate(path);
};

/** Keeps the log within about 16 MiB, the part set aside included. @returns how to end that */
export const boundLogFile = (path: string, logger: Logger): (() => void) => {
  const timer = setInterval(() => {
    cutLogFile(path).catch((error: unknown) => {
      // The server goes on all the same, and so do we.
      logger.warn({ err: error, path }, 'cannot bound the log of a server');
    });
  }, checkMs).unref();
  return () => {
    clearInterval(timer);
  };
};

export const lastLines = (output: string): string =>
  output.trimEnd().split('\n').slice(-15).join('\n');

/** The last lines of a log. */
export const tailOf = async (path: string): Promise<string> => {
  const { size } = await stat(path);
  return lastLines(await text(createReadStream(path, { start: Math.max(0, size - tailBytes) })));
};
