import {
  catalogue,
  type EventName,
  type EventNamed,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { topics } from '../../../schemas/events/topics.js';
import { LedgerClock } from '../../ledger/clock.js';
import type { EventLog } from '../../event-log/port.js';
import { createLogger, type Logger } from '../../platform/logging.js';
import {
  deliveredAtCommit,
  type Outbox,
  type OutboxDelivery,
} from '../../event-log/outbox/port.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import type { TestDatabase } from './database.js';
import type { OnRecorded } from '../../event-log/outbox/outbox-metrics.js';
import { openPostgresLog, type PostgresLog } from '../../event-log/postgres-log.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';

/**
 * The embedded log with a listener, which `close` ends. By default, each append is announced immediately, so that
 * readers of a test do not wait.
 */
export const openTestLog = async (options: {
  readonly pool: Pool;
  /** The URL of the pool. */
  readonly url: string;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded;
  readonly announcementMs?: number;
}): Promise<PostgresLog> => {
  const listener = listenToPostgres(options.url, ['linklog_log'], options.logger);
  try {
    const { log, outbox } = await openPostgresLog({ announcementMs: 0, ...options, listener });
    return { log: { ...log, close: () => listener.close() }, outbox };
  } catch (error) {
    await listener.close();
    throw error;
  }
};

/** The pool and the log of one process on a database. */
export interface TestNode {
  readonly pool: Pool;
  readonly clock: LedgerClock;
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly findUnknownEvent: () => Promise<null>;
  readonly findFaults: () => Promise<readonly never[]>;
  /** All events of a topic, ordered within a partition. */
  events(topic: keyof typeof topics): Promise<readonly LinklogEvent[]>;
  close(): Promise<void>;
}

const logger = createLogger('silent');

export const testNode = async (database: TestDatabase): Promise<TestNode> => {
  const pool = createPool({
    ...{ url: database.url, name: 'test node', max: 4, deadlines: 'patient', logger },
  });
  const { log, outbox } = await openTestLog({ pool, url: database.url, logger });
  return {
    pool,
    clock: new LedgerClock(pool),
    log,
    outbox,
    delivery: deliveredAtCommit,
    findUnknownEvent: () => Promise.resolve(null),
    findFaults: () => Promise.resolve([]),
    async events(topic) {
      const { name } = topics[topic];
      const events: LinklogEvent[] = [];
      for (const { partition, first, next } of await log.ranges(name)) {
        for await (const { records } of log.read(name, partition, first, next)) {
          for (const { value } of records) events.push(readEvent(value));
        }
      }
      return events;
    },
    async close() {
      await log.close();
      await pool.end();
    },
  };
};

/** The events of one name. */
export const named = <Name extends EventName>(
  name: Name,
  events: readonly LinklogEvent[],
): readonly EventNamed<Name>[] =>
  events.filter((event): event is LinklogEvent & EventNamed<Name> => {
    return event.type === catalogue[name].type;
  });
