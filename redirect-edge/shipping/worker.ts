/** The thread that appends visits to the log; see `shipping.ts`. */
import { workerData } from 'node:worker_threads';
import { lowerThreadPriority, serveCalls } from '../../ops/platform/concurrency/thread.js';
import type { KafkaSettings } from '../../ops/event-log/kafka/settings.js';
import type { EventLog } from '../../ops/event-log/port.js';
import { createLogger, logWarnings } from '../../ops/platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { shipHere, type ShippingThread, type WorkerSettings } from './shipping.js';

type Append = EventLog['append'];

/**
 * A third of the scheduling weight of the event loop. If both share a core, a batch would otherwise delay redirects for
 * milliseconds. The rest is enough to keep the spool short.
 */
const niceness = 5;

lowerThreadPriority(niceness);

const { kafka, databaseUrl, logLevel } = workerData as WorkerSettings;
const logger = createLogger(logLevel);
logWarnings(logger);

// Only the code of the configured log is loaded.
const openKafka = async (settings: KafkaSettings): Promise<Append> => {
  const { createKafkaClient } = await import('../../ops/event-log/kafka/client.js');
  const { createRecordProducer } = await import('../../ops/event-log/kafka/producer.js');
  const producer = createRecordProducer(createKafkaClient(settings, logger), settings);
  return (topic, records) => producer.send(topic, records);
};

/** Connections: one for chunks of the own spool, one for those of an adopted spool. */
const max = 2;

const openPostgres = async (url: string): Promise<Append> => {
  const { openPostgresAppend } = await import('../../ops/event-log/postgres-log.js');
  const { createPool } = await import('../../ops/platform/postgres/pool.js');
  const pool = createPool({ url, name: 'shipping', max, deadlines: 'log', logger });
  return openPostgresAppend(pool);
};

let opening: Promise<Append> | undefined;

const open = (): Promise<Append> => {
  opening ??= (kafka ? openKafka(kafka) : openPostgres(databaseUrl)).catch((error: unknown) => {
    opening = undefined;
    throw error;
  });
  return opening;
};
// Connects before the first visit. After a failure, the first visit connects again, and reports the error.
open().catch(() => undefined);

const shipping = shipHere(async (records) => {
  const append = await open();
  await append(topics.visits.name, records);
});

serveCalls<ShippingThread>({
  ship: (chunk) => shipping.ship(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)),
});
