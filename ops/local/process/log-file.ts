import { createReadStream, openSync } from 'node:fs';
import { copyFile, rename, stat, truncate } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { nullOn } from '../../platform/errors.js';

const maxBytes = 8 * 1024 * 1024;
const checkMs = 30_000;
const tailBytes = 16 * 1024;

/**
 * Renames the log of the last run to `<path>.1` and opens a new one. The server writes to the file directly, so no
 * output is lost when we are killed.
 *
 * @returns a file descriptor for the server's stdout and stderr
 */
export const openLogFile = async (path: string): Promise<number> => {
  await nullOn(rename(path, `${path}.1`), 'ENOENT');
  // 'ax': in append mode, truncation leaves no hole; and an exclusive open follows no symbolic link.
  return openSync(path, 'ax', 0o600);
};

/** Moves the content of a log to `<path>.1` if it is longer than `limit` bytes. */
export const cutLogFile = async (path: string, limit = maxBytes): Promise<void> => {
  if ((await stat(path)).size <= limit) return;
  // Copied, because the server would continue to write to a renamed file.
  await copyFile(path, `${path}.1`);
  await truncate(path);
};

/** Bounds the log to about 16 MiB, `<path>.1` included. @returns a function that stops this */
export const boundLogFile = (path: string, logger: Logger): (() => void) => {
  const timer = setInterval(() => {
    cutLogFile(path).catch((error: unknown) => {
      logger.warn({ err: error, path }, 'cannot bound the log of a server');
    });
  }, checkMs).unref();
  return () => {
    clearInterval(timer);
  };
};

export const lastLines = (output: string): string =>
  output.trimEnd().split('\n').slice(-15).join('\n');

export const tailOf = async (path: string): Promise<string> => {
  const { size } = await stat(path);
  return lastLines(await text(createReadStream(path, { start: Math.max(0, size - tailBytes) })));
};
