import { Worker } from 'node:worker_threads';
import { deferred, type Deferred } from '../../ops/platform/concurrency/deferred.js';
import type { KafkaSettings } from '../../ops/platform/event-log/kafka/settings.js';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { decodeRecords, type SpoolRecord } from '../spool/record.js';
import type { Shipped, Shipping } from '../spool/shipper.js';

/** To Kafka from a worker thread; to a log in PostgreSQL, which encodes nothing itself, from here. */
export const openShipping = (options: {
  readonly kafka: KafkaSettings | null;
  readonly log: EventLog;
  readonly logger: Logger;
}): Shipping => {
  const { kafka, log, logger } = options;
  const topic = topics.visits.name;
  if (kafka === null) return shipHere((records) => log.append(topic, records));
  // A log that answers `ranges` is up, its topics are right, and it belongs to this database.
  return shipFromWorker({ kafka, untilAnswering: () => log.ranges(topic), logger });
};

const maxBatchRecords = 1_000;

/** Ships on the caller's event loop. */
export const shipHere = (append: (records: readonly SpoolRecord[]) => Promise<void>): Shipping => ({
  async ship(chunk) {
    const { records, bytes } = decodeRecords(chunk, maxBatchRecords);
    if (records.length > 0) await append(records);
    return { records: records.length, bytes, through: records.at(-1)?.sequence ?? 0 };
  },
  stop: () => Promise.resolve(),
});

/** What the worker is started with. */
export interface WorkerSettings {
  readonly kafka: KafkaSettings;
  /** Whether it reports what kafkajs logs. */
  readonly debug: boolean;
}

/** Asks the worker to ship a chunk of shared memory. */
export interface ChunkToShip {
  readonly id: number;
  readonly chunk: Uint8Array;
}

/** What the worker says: what became of a chunk, or a line for the log. */
export type WorkerReport =
  | { readonly id: number; readonly shipped: Shipped }
  | { readonly id: number; readonly error: unknown }
  | { readonly details: object; readonly message: string };

const program = new URL('worker.js', import.meta.url);

/**
 * Ships in a worker thread, so that the event loop is left to redirects: a chunk costs it one message
 * there and one back. The worker has no state that matters: the chunks that it had when it died are
 * rejected, so the spool offers them again, and that starts another worker.
 */
export const shipFromWorker = (options: {
  readonly kafka: KafkaSettings;
  /** Resolves when the log may be written. */
  readonly untilAnswering: () => Promise<unknown>;
  readonly logger: Logger;
}): Shipping => {
  const { kafka, untilAnswering, logger } = options;
  const waiting = new Map<number, Deferred<Shipped>>();
  let lastId = 0;
  let worker: Worker | undefined;
  let isConnected = false;
  let isStopped = false;

  const hear = (report: WorkerReport): void => {
    if ('message' in report) {
      logger.debug(report.details, report.message);
      return;
    }
    const chunk = waiting.get(report.id);
    waiting.delete(report.id);
    if ('shipped' in report) chunk?.resolve(report.shipped);
    else chunk?.reject(report.error);
  };

  const start = (): Worker => {
    const workerData: WorkerSettings = { kafka, debug: logger.isLevelEnabled('debug') };
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
    return started;
  };

  return {
    async ship(chunk) {
      if (!isConnected) {
        await untilAnswering();
        isConnected = true;
      }
      if (isStopped) throw new Error('The edge does not ship visits any more');
      worker ??= start();
      lastId += 1;
      const outcome = deferred<Shipped>();
      waiting.set(lastId, outcome);
      worker.postMessage({ id: lastId, chunk } satisfies ChunkToShip);
      return outcome.promise;
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
