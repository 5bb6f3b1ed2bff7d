import { Worker } from 'node:worker_threads';
import { deferred, type Deferred } from '../../ops/platform/concurrency/deferred.js';
import type { KafkaSettings } from '../../ops/platform/event-log/kafka/settings.js';
import type { NewRecord } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Shipped, Shipping } from '../spool/shipper.js';
import { logRecordsIn } from './log-records.js';

const maxBatchRecords = 2_000;

/** See `Shipping.paceMs`: a visit is to show in the statistics within a second. */
const paceMs = {
  /** Readers of the embedded log let records wait themselves, for 400 ms. */
  embedded: 250,
  /** Readers do not wait, and the larger a batch, the more of it is like what came before. */
  kafka: 400,
};

/** Ships on the caller's event loop. */
export const shipHere = (append: (records: readonly NewRecord[]) => Promise<void>): Shipping => ({
  paceMs: paceMs.embedded,
  async ship(chunk, spoolId) {
    const { records, shipped } = logRecordsIn(chunk, spoolId, maxBatchRecords);
    if (records.length > 0) await append(records);
    return shipped;
  },
  stop: () => Promise.resolve(),
});

/** Where a worker finds the log. */
export interface LogAddress {
  /** `null`: the log is in PostgreSQL. */
  readonly kafka: KafkaSettings | null;
  readonly databaseUrl: string;
}

/** What the worker is started with. */
export interface WorkerSettings extends LogAddress {
  readonly logLevel: string;
}

/** Asks the worker to ship a chunk of shared memory. */
export interface ChunkToShip {
  readonly id: number;
  readonly spoolId: string;
  readonly chunk: Uint8Array;
}

/** What became of a chunk. */
export type WorkerReport = { readonly id: number } & (
  { readonly shipped: Shipped } | { readonly error: unknown }
);

const program = new URL('worker.js', import.meta.url);

/**
 * Ships in a worker thread, so that the event loop is left to redirects: a chunk costs it one message
 * there and one back. The worker has no state that matters: the chunks that it had when it died are
 * rejected, so the spool offers them again, and that starts another worker.
 */
export const shipFromWorker = (options: {
  readonly address: LogAddress;
  /** Resolves when the log may be written. */
  readonly untilAnswering: () => Promise<unknown>;
  readonly logger: Logger;
}): Shipping => {
  const { address, untilAnswering, logger } = options;
  const waiting = new Map<number, Deferred<Shipped>>();
  let lastId = 0;
  let isConnected = false;
  let isStopped = false;

  const hear = (report: WorkerReport): void => {
    const chunk = waiting.get(report.id);
    waiting.delete(report.id);
    if ('shipped' in report) chunk?.resolve(report.shipped);
    else chunk?.reject(report.error);
  };

  const start = (): Worker => {
    const workerData: WorkerSettings = { ...address, logLevel: logger.level };
    const started = new Worker(program, { workerData });
    started.on('message', hear);
    started.on('error', (error: unknown) => {
      logger.error({ err: error }, 'the worker that ships visits failed');
    });
    started.on('exit', (code) => {
      worker = undefined;
      if (!isStopped) logger.error({ code }, 'the worker that ships visits ended');
      const error = new Error('The worker that ships visits ended');
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    });
    // Whoever waits for a chunk keeps the process alive, and an idle worker does not.
    started.unref();
    return started;
  };
  // At once: to load its code takes longer than the first visit may wait, on a busy machine.
  let worker: Worker | undefined = start();

  return {
    paceMs: address.kafka ? paceMs.kafka : paceMs.embedded,
    async ship(chunk, spoolId) {
      if (!isConnected) {
        await untilAnswering();
        isConnected = true;
      }
      if (isStopped) throw new Error('The edge does not ship visits any more');
      worker ??= start();
      lastId += 1;
      const outcome = deferred<Shipped>();
      waiting.set(lastId, outcome);
      worker.postMessage({ id: lastId, spoolId, chunk } satisfies ChunkToShip);
      return outcome.promise;
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
