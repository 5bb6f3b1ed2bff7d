import { startThread, type Thread } from '../../ops/platform/concurrency/thread.js';
import type { KafkaSettings } from '../../ops/event-log/kafka/settings.js';
import type { NewLines, NewRecord } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { maxPortion } from '../../schemas/events/spooled-visit.js';
import type { Shipped, Shipping } from '../spool/shipper.js';
import { LineWriter } from './line-writer.js';
import { logRecordsIn } from './log-records.js';

/** See `Shipping.paceMs`: statistics have a visit within a second. */
const paceMs = {
  /** Readers of the embedded log wait up to 400 ms for more records. */
  embedded: 250,
  /** Readers of Kafka do not wait, and larger batches compress better. */
  kafka: 500,
};

/** Ships on the caller's event loop. */
export const shipHere = (
  append: (records: readonly (NewRecord | NewLines)[]) => Promise<void>,
): Shipping => {
  const idle: LineWriter[] = [];
  return {
    paceMs: paceMs.embedded,
    async ship(chunk, spoolId) {
      const writer = idle.pop() ?? new LineWriter();
      const { records, shipped } = logRecordsIn(chunk, spoolId, maxPortion, writer);
      if (records.length > 0) await append(records);
      idle.push(writer);
      return shipped;
    },
    stop: () => Promise.resolve(),
  };
};

/** How a worker connects to the log. */
export interface LogAddress {
  /** `null`: the log is in PostgreSQL. */
  readonly kafka: KafkaSettings | null;
  readonly databaseUrl: string;
}

/** The `workerData` of the worker. */
export interface WorkerSettings extends LogAddress {
  readonly logLevel: string;
}

/** The calls of the worker. */
export interface ShippingThread {
  /** `chunk` is shared memory. */
  ship(chunk: Uint8Array, spoolId: string): Promise<Shipped>;
}

const program = new URL('worker.js', import.meta.url);

/**
 * Ships in a worker thread, so that the event loop is free for redirects: a chunk costs it two messages. The worker is
 * stateless. If it dies, its chunks are rejected, and the spool ships them again, which starts another worker.
 */
export const shipFromWorker = (options: {
  readonly address: LogAddress;
  /** Resolves when the log is available. */
  readonly untilAvailable: () => Promise<unknown>;
  readonly logger: Logger;
}): Shipping => {
  const { address, untilAvailable, logger } = options;
  let isConnected = false;
  let isStopped = false;

  const start = (): Thread<ShippingThread> => {
    const workerData: WorkerSettings = { ...address, logLevel: logger.level };
    const started = startThread<ShippingThread>(program, { workerData });
    void started.ended.then((err) => {
      worker = undefined;
      if (!isStopped) logger.error({ err }, 'the worker that ships visits ended');
    });
    return started;
  };
  // Started immediately: on a busy machine, loading its code takes longer than the first visit may wait.
  let worker: Thread<ShippingThread> | undefined = start();

  return {
    paceMs: address.kafka ? paceMs.kafka : paceMs.embedded,
    async ship(chunk, spoolId) {
      if (!isConnected) {
        await untilAvailable();
        isConnected = true;
      }
      if (isStopped) throw new Error('the edge has stopped: it does not ship visits');
      worker ??= start();
      return worker.call('ship', chunk, spoolId);
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
