import { setTimeout as sleep } from 'node:timers/promises';
import { appliedThrough, subjectsSetAside } from '../../projectors/main.js';
import { never } from '../platform/concurrency/deferred.js';
import { periodically } from '../platform/concurrency/periodic.js';
import type { Config } from '../platform/config/config.js';
import type { KafkaSettings } from '../platform/event-log/kafka/settings.js';
import {
  bindToLog,
  embeddedLog,
  requireBoundTo,
  requireNotEmbedded,
} from '../platform/event-log/log-binding.js';
import type { EventLog } from '../platform/event-log/port.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import type { Logger } from '../platform/logging.js';
import type { OnRecorded } from '../platform/outbox/outbox-metrics.js';
import { deliveredAtCommit, type Outbox, type OutboxDelivery } from '../platform/outbox/port.js';
import { pruneSent, startRelay } from '../platform/outbox/relay.js';
import { openRelayedDelivery } from '../platform/outbox/relayed-delivery.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';

const answersWithinMs = 30_000;
const pruneEveryMs = 600_000;

export interface OpenedLog {
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  /** Never resolves; rejects when the log can never be used. */
  readonly failed: Promise<never>;
  /** Resolves when the log answers; rejects when it does not in half a minute. */
  untilAnswering(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  /** For what requests wait for; by default `pool`. */
  readonly requestPool?: Pool;
  /** The pool's. */
  readonly url: string;
  /** Hears `linklog_log` and `linklog_sent`. */
  readonly listener: NotificationListener;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded;
  /** For a command beside a running service: binds no log, relays nothing, prunes nothing. */
  readonly readOnly?: boolean;
}

const openEmbedded = async (options: Options): Promise<OpenedLog> => {
  await (options.readOnly === true ? requireBoundTo : bindToLog)(options.pool, embeddedLog);
  const { log, outbox } = await openPostgresLog(options);
  return {
    log,
    outbox,
    delivery: deliveredAtCommit,
    failed: never,
    untilAnswering: () => Promise.resolve(),
    close: () => log.close(),
  };
};

/** The table is the outbox, and a relay sends its events to Kafka. */
const openOnKafka = async (settings: KafkaSettings, options: Options): Promise<OpenedLog> => {
  const { pool, url, listener, logger, readOnly = false } = options;
  const brokers = settings.brokers.join(',');
  await requireNotEmbedded(pool, `kafka:${brokers}`);
  // Loaded here: without Kafka, the start is a tenth of a second shorter.
  const { openKafkaLog } = await import('../platform/event-log/kafka/kafka-log.js');
  const { outbox } = await openPostgresLog(options);
  const log = openKafkaLog({
    settings,
    logger,
    bindToLog: (name) => (readOnly ? requireBoundTo : bindToLog)(pool, name),
  });
  const delivery = await openRelayedDelivery({ pool: options.requestPool ?? pool, listener });
  const tasks = readOnly
    ? []
    : [
        startRelay({ pool, url, listener, log, logger }),
        periodically({
          name: 'prune the outbox',
          everyMs: pruneEveryMs,
          task: () =>
            pruneSent(pool, {
              appliedThrough: (topic, partition) => appliedThrough(pool, topic, partition),
              setAside: (topic) => subjectsSetAside(pool, topic),
            }),
          logger,
        }),
      ];
  return {
    log,
    outbox,
    delivery,
    failed: log.ready.then(() => never),
    async untilAnswering() {
      const late = sleep(answersWithinMs, undefined, { ref: false }).then(() => {
        throw new Error(`KAFKA_BROKERS: Kafka at ${brokers} does not answer`);
      });
      await Promise.race([log.ready, late]);
    },
    async close() {
      await Promise.all(tasks.map((task) => task.stop()));
      delivery.stop();
      await log.close();
    },
  };
};

/**
 * Opens the log that is configured, and the ledger's outbox in front of it.
 *
 * @throws ForeignLog when the database's events belong to another log
 */
export const openEventLog = (
  { kafka }: Pick<Config, 'kafka'>,
  options: Options,
): Promise<OpenedLog> => (kafka === null ? openEmbedded(options) : openOnKafka(kafka, options));
