import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { ServerFailed } from './errors.js';
import type { Server } from './server.js';

/** The back-off between restarts; a server that lived for 10 s is not in a crash loop. */
const restarts = { pauses: { firstMs: 100, longestMs: 5_000 }, steadyMs: 10_000 };

/** Restarts a server whenever it dies, until the signal is aborted or the server is stopped. */
export const keepRunning = (
  server: Server,
  {
    name,
    signal,
    onRestarted,
    logger,
  }: {
    /** For the log, such as `api 0`. */
    readonly name: string;
    readonly signal: AbortSignal;
    readonly onRestarted?: () => void;
    readonly logger: Logger;
  },
): void => {
  let isDead = false;
  const runOnce = async (): Promise<void> => {
    if (isDead) {
      await server.restart();
      signal.throwIfAborted();
      onRestarted?.();
    }
    const exit = await server.exited;
    isDead = true;
    if (exit.status === 'died') {
      throw new ServerFailed(`${name} died (${exit.reason})`, { output: exit.output });
    }
  };
  const onFailure = (err: unknown): void => {
    logger.warn({ err, part: name }, 'restarting a process that is down');
  };
  // Failures are logged above and retried; `retry` rejects only if the signal is aborted.
  retry(runOnce, { ...restarts, signal, onFailure }).catch(() => undefined);
};
