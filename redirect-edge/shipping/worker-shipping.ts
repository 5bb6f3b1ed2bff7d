import { Worker } from 'node:worker_threads';
import type { KafkaSettings } from '../../ops/platform/event-log/kafka/settings.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Shipped } from '../spool/ports.js';
import type { ChunkToShip, WorkerReport, WorkerSettings } from './messages.js';
import type { Shipping } from './port.js';

const program = new URL('worker.js', import.meta.url);

interface Waiting {
  readonly resolve: (shipped: Shipped) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Ships in a worker thread, so that the event loop is left to redirects: all that it does for a chunk
 * is a message there and one back. The worker has no state that matters: what it was given when it
 * died is rejected, so the spool offers it again, and that starts another worker.
 */
export const startWorkerShipping = (options: {
  readonly kafka: KafkaSettings;
  /** Resolves when the log may be written. */
  readonly untilAnswering: () => Promise<unknown>;
  readonly logger: Logger;
}): Shipping => {
  const { kafka, untilAnswering, logger } = options;
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let worker: Worker | undefined;
  let isConnected = false;
  let isStopped = false;

  const hear = (report: WorkerReport): void => {
    if ('message' in report) {
      logger.debug(report.details, report.message);
      return;
    }
    const asked = waiting.get(report.id);
    waiting.delete(report.id);
    if ('shipped' in report) asked?.resolve(report.shipped);
    else asked?.reject(report.error);
  };

  const start = (): Worker => {
    const workerData: WorkerSettings = { kafka, debug: logger.isLevelEnabled('debug') };
    const started = new Worker(program, { workerData });
    started.on('message', hear);
    started.on('error', (error: unknown) => {
      logger.error({ err: error }, 'The worker that ships visits failed');
    });
    started.on('exit', (code) => {
      worker = undefined;
      if (!isStopped) logger.error({ code }, 'The worker that ships visits ended');
      const error = new Error('The worker that ships visits ended');
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    return started;
  };

  return {
    async ship(chunk) {
      if (!isConnected) {
        await untilAnswering();
        isConnected = true;
      }
      if (isStopped) throw new Error('The edge does not ship visits any more');
      return new Promise((resolve, reject) => {
        worker ??= start();
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        const message: ChunkToShip = {
          id: lastId,
          chunk: chunk as Uint8Array as Uint8Array<SharedArrayBuffer>,
        };
        worker.postMessage(message);
      });
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
