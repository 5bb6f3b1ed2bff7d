import { startThread, type Thread } from '../../ops/platform/concurrency/thread.js';
import type { KafkaSettings } from '../../ops/event-log/kafka/settings.js';
import type { NewLines, NewRecord } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { maxPortion } from '../../schemas/events/spooled-visit.js';
import type { Shipped, Shipping } from '../spool/shipper.js';
import { LineWriter } from './line-writer.js';
import { logRecordsIn } from './log-records.js';

/** See `Shipping.paceMs`: a visit is to show in the statistics within a second. */
const paceMs = {
  /** Readers of the embedded log let records wait themselves, for 400 ms. */
  embedded: 250,
  /** Readers do not wait, and the larger a batch, the more of it is like what came before. */
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

/** What the worker does. */
export interface ShippingThread {
  /** `chunk` is shared memory. */
  ship(chunk: Uint8Array, spoolId: string): Promise<Shipped>;
}

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
  // At once: to load its code takes longer than the first visit may wait, on a busy machine.
  let worker: Thread<ShippingThread> | undefined = start();

  return {
    paceMs: address.kafka ? paceMs.kafka : paceMs.embedded,
    async ship(chunk, spoolId) {
      if (!isConnected) {
        await untilAnswering();
        isConnected = true;
      }
      if (isStopped) throw new Error('The edge does not ship visits any more');
      worker ??= start();
      return worker.call('ship', chunk, spoolId);
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
