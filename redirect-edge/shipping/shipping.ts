import { startThread, type Thread } from '../../ops/platform/concurrency/thread.js';
import type { KafkaSettings } from '../../ops/event-log/kafka/settings.js';
import { lineLimits } from '../../ops/event-log/lines.js';
import type { NewLines } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { maxPortion } from '../../schemas/events/spooled-visit.js';
import { recordsIn } from '../spool/record.js';
import type { Shipped, Shipping } from '../spool/shipper.js';

/** See `Shipping.paceMs`: statistics have a visit within a second. */
const paceMs = {
  /** Readers of the embedded log wait up to 400 ms for more records. */
  embedded: 250,
  /** Readers of Kafka do not wait, and larger batches compress better. */
  kafka: 500,
};

/** Consecutive records of a partition. */
interface Batch {
  readonly partition: number;
  visits: number;
  readonly parts: Buffer[];
  bytes: number;
}

/**
 * Groups records from the start of a chunk of a spool's file by partition, at most `max` visits. A subject needs no escape
 * in JSON, so each event can be a line. `shipped` is the part of the chunk that was grouped.
 *
 * @throws UnknownRecordFormat
 */
export const portionOf = (
  chunk: Buffer,
  max: number,
): { readonly batches: readonly NewLines[]; readonly shipped: Shipped } => {
  const batches: Batch[] = [];
  const current = new Map<number, Batch>();
  const shipped = { visits: 0, bytes: 0 };
  for (const { partition, visits, lines, end } of recordsIn(chunk)) {
    if (shipped.visits + visits > max) break;
    let batch = current.get(partition);
    if (
      !batch ||
      batch.visits + visits > lineLimits.records ||
      batch.bytes + lines.length > lineLimits.bytes
    ) {
      batch = { partition, visits: 0, parts: [], bytes: 0 };
      current.set(partition, batch);
      batches.push(batch);
    }
    batch.visits += visits;
    batch.parts.push(lines);
    batch.bytes += lines.length;
    shipped.visits += visits;
    shipped.bytes = end;
  }
  return {
    batches: batches.map(({ partition, visits, parts, bytes }) => ({
      partition,
      records: visits,
      // The last line has no line feed.
      lines: Buffer.concat(parts, bytes - 1),
    })),
    shipped,
  };
};

/** Ships on the caller's event loop. */
export const shipHere = (append: (batches: readonly NewLines[]) => Promise<void>): Shipping => ({
  paceMs: paceMs.embedded,
  async ship(chunk) {
    const { batches, shipped } = portionOf(chunk, maxPortion);
    if (batches.length > 0) await append(batches);
    return shipped;
  },
  stop: () => Promise.resolve(),
});

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
  ship(chunk: Uint8Array): Promise<Shipped>;
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
    async ship(chunk) {
      if (!isConnected) {
        await untilAvailable();
        isConnected = true;
      }
      if (isStopped) throw new Error('the edge has stopped: it does not ship visits');
      worker ??= start();
      return worker.call('ship', chunk);
    },
    async stop() {
      isStopped = true;
      await worker?.terminate();
    },
  };
};
