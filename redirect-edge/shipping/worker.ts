/** The thread that makes events of visits, and appends them to the log; see `shipping.ts`. */
import { workerData } from 'node:worker_threads';
import {
  atNormalPriority,
  lowerThreadPriority,
} from '../../ops/platform/concurrency/thread-priority.js';
import { answerCalls } from '../../ops/platform/concurrency/thread.js';
import type { KafkaSettings } from '../../ops/event-log/kafka/settings.js';
import type { EventLog } from '../../ops/event-log/port.js';
import { createLogger } from '../../ops/platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { shipHere, type ShippingThread, type WorkerSettings } from './shipping.js';

type Append = EventLog['append'];

/**
 * A third of the weight of the event loop, which visitors wait for: where both share a core, a batch would hold it
 * up for milliseconds. Enough that the spool never grows for long.
 */
const niceness = 5;

lowerThreadPriority(niceness);

const { kafka, databaseUrl, logLevel } = workerData as WorkerSettings;
const logger = createLogger(logLevel);

// The code of one log or the other is loaded, not both.
const openKafka = async (settings: KafkaSettings): Promise<Append> => {
  const { createKafkaClient } = await import('../../ops/event-log/kafka/client.js');
  const { createRecordProducer } = await import('../../ops/event-log/kafka/producer.js');
  const producer = createRecordProducer(createKafkaClient(settings, logger), settings);
  return (topic, records) => producer.send(topic, records);
};

/** Connections: chunks of its own spool, and of one that was adopted. */
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
// Before there is a visit. What fails here is tried again for that visit, and told then.
open().catch(() => undefined);

const shipping = shipHere(async (records) => {
  const append = await open();
  await atNormalPriority(() => append(topics.visits.name, records));
});

answerCalls<ShippingThread>({
  ship: (chunk, spoolId) =>
    shipping.ship(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length), spoolId),
});
