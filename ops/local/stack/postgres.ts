import { startEmbeddedPostgres } from '../postgres/index.js';
import type { Logger } from '../../platform/logging.js';
import type { Part } from './part.js';

/** The embedded PostgreSQL of a data directory, which a restart brings back at the same address. */
export const startPostgres = async (options: {
  readonly dataDir: string;
  readonly logger: Logger;
}): Promise<Part & { readonly url: string }> => {
  let running = await startEmbeddedPostgres(options);
  const { url } = running;
  const port = Number(new URL(url).port);
  let starting: Promise<void> = Promise.resolve();
  let isStopped = false;

  const start = async (): Promise<void> => {
    running = await startEmbeddedPostgres({ ...options, port });
    if (isStopped) await running.stop();
  };
  return {
    url,
    get pid() {
      return running.pid;
    },
    get exited() {
      return running.exited;
    },
    kill(signal) {
      process.kill(running.pid, signal);
    },
    async restart() {
      starting = start();
      await starting;
    },
    async stop() {
      isStopped = true;
      // How a restart went that is under way, its caller hears.
      await Promise.allSettled([starting]);
      await running.stop();
    },
  };
};
