import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Disturbance } from '../support/tcp-proxy.js';

/** The network between a server and its clients. */
export interface Link {
  /** The server's URL for its clients. */
  readonly url: string;
  /** @param slowMs latency of `slow`, each way; by default that of the proxy */
  disturb(how: Disturbance, slowMs?: number): void;
  mend(): void;
  close(): Promise<void>;
}

/** Relays in another thread, which load and checks do not slow down. */
export const startLink = async (serverUrl: string): Promise<Link> => {
  const worker = new Worker(new URL('./link-worker.js', import.meta.url), {
    workerData: serverUrl,
  });
  const [url] = (await once(worker, 'message')) as [string];
  return {
    url,
    disturb(how, slowMs) {
      worker.postMessage({ how, slowMs });
    },
    mend() {
      worker.postMessage({ how: null });
    },
    async close() {
      await worker.terminate();
    },
  };
};
