import type { KafkaSettings } from '../../ops/platform/event-log/kafka/settings.js';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { shipHere } from './here.js';
import type { Shipping } from './port.js';
import { startWorkerShipping } from './worker-shipping.js';

/** To Kafka from a worker thread; to a log in PostgreSQL, which encodes nothing itself, from here. */
export const openShipping = (options: {
  readonly kafka: KafkaSettings | null;
  readonly log: EventLog;
  readonly logger: Logger;
}): Shipping => {
  const { kafka, log, logger } = options;
  const topic = topics.visits.name;
  if (kafka === null) {
    return {
      ship: shipHere((records) => log.append(topic, records)),
      stop: () => Promise.resolve(),
    };
  }
  // A log that can tell its ends is there, its topics are as they must be, and it is this database's.
  return startWorkerShipping({ kafka, untilAnswering: () => log.ranges(topic), logger });
};
