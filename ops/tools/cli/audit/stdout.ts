import { once } from 'node:events';

/** Writes to stdout no faster than its reader reads; the signal ends the wait for a slow one. */
export const appendToStdout =
  (signal: AbortSignal) =>
  async (chunk: Buffer | string): Promise<void> => {
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain', { signal });
  };
