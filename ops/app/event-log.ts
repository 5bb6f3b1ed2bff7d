import { setTimeout as sleep } from 'node:timers/promises';
import { appliedThrough } from '../../projectors/main.js';
import type { Config } from '../platform/config/config.js';
import {
  bindToLog,
  embeddedLog,
  requireBoundTo,
  requireNotEmbedded,
} from '../platform/event-log/log-binding.js';
import { openKafkaLog } from '../platform/event-log/kafka/kafka-log.js';
import type { KafkaSettings } from '../platform/event-log/kafka/settings.js';
import type { EventLog } from '../platform/event-log/port.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import type { Logger } from '../platform/logging.js';
import { pruneSent } from '../platform/outbox/relay-checkpoints.js';
import type { Outbox } from '../platform/outbox/port.js';
import { openRelayedOutbox } from '../platform/outbox/relayed-outbox.js';
import { startRelay } from '../platform/outbox/relay.js';
import { periodically } from '../platform/concurrency/periodic.js';
import type { NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';

const answersWithinMs = 30_000;
const pruneEveryMs = 600_000;

export interface OpenedLog {
  readonly log: EventLog;
  readonly outbox: Outbox;
  /** Never resolves; rejects when the log can never be used. */
  readonly failed: Promise<never>;
  /** Resolves when the log answers; rejects when it does not in half a minute. */
  untilAnswering(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  /** The pool's. */
  readonly url: string;
  /** Hears `linklog_log` and `linklog_sent`. */
  readonly listener: NotificationListener;
  readonly logger: Logger;
  /**
   * Whether this is opened beside a running service, to look, and leaves to that one what must be
   * done: to say whose log it is, to relay, to prune.
   */
  readonly readOnly?: boolean;
}

const never = new Promise<never>(() => undefined);

const bindingOf =
  ({ pool, readOnly = false }: Options) =>
  (logName: string): Promise<void> =>
    (readOnly ? requireBoundTo : bindToLog)(pool, logName);

/** Log and outbox are one table. */
const openEmbedded = async (options: Options): Promise<OpenedLog> => {
  await bindingOf(options)(embeddedLog);
  const { log, outbox } = await openPostgresLog(options);
  return {
    log,
    outbox,
    failed: never,
    untilAnswering: () => Promise.resolve(),
    close: () => log.close(),
  };
};

/** The table is the outbox, and a relay sends what is in it to Kafka. */
const openOnKafka = async (settings: KafkaSettings, options: Options): Promise<OpenedLog> => {
  const { pool, url, listener, logger } = options;
  const bindToLog = bindingOf(options);
  await requireNotEmbedded(pool, `kafka:${settings.brokers.join(',')}`);
  const { outbox: recorded } = await openPostgresLog(options);
  const log = openKafkaLog({ settings, logger, bindToLog });
  const outbox = await openRelayedOutbox({ pool, listener, outbox: recorded });
  const chores = options.readOnly
    ? []
    : [
        startRelay({ pool, url, listener, log, logger }),
        periodically({
          name: 'prune the outbox',
          everyMs: pruneEveryMs,
          task: () => pruneSent(pool, (topic, partition) => appliedThrough(pool, topic, partition)),
          logger,
        }),
      ];
  return {
    log,
    outbox,
    failed: log.ready.then(() => never),
    async untilAnswering() {
      const brokers = settings.brokers.join(',');
      const late = sleep(answersWithinMs, undefined, { ref: false }).then(() => {
        throw new Error(`KAFKA_BROKERS: Kafka at ${brokers} does not answer`);
      });
      await Promise.race([log.ready, late]);
    },
    async close() {
      await Promise.all(chores.map((chore) => chore.stop()));
      outbox.stop();
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
