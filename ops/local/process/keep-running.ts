import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { ServerFailed } from './errors.js';
import type { Server } from './server.js';

/** Between restarts of a server that dies soon again; one that lived for 10 s is in no crash loop. */
const restarts = { pauses: { firstMs: 100, longestMs: 5_000 }, steadyMs: 10_000 };

/** Starts a server again whenever it dies, until the signal comes or it is stopped. */
export const keepRunning = (
  server: Server,
  options: {
    /** For the log: `api 0`. */
    readonly name: string;
    readonly signal: AbortSignal;
    readonly onRestarted?: () => void;
    readonly logger: Logger;
  },
): void => {
  const { name, signal, onRestarted, logger } = options;
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
    logger.warn({ err, part: name }, 'a part is down: restarting');
  };
  // Each failure is logged above and tried again; only the signal ends the tries, by its abort.
  retry(runOnce, { ...restarts, signal, onFailure }).catch(() => undefined);
};
