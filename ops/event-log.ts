import { setTimeout as sleep } from 'node:timers/promises';
import { appliedThrough } from '../projectors/main.js';
import type { Config } from './platform/config.js';
import {
  claimHome,
  postgresHome,
  requireHome,
  requireNotAtHome,
} from './platform/event-log/home.js';
import { openKafkaLog, type KafkaLog } from './platform/event-log/kafka/kafka-log.js';
import type { KafkaSettings } from './platform/event-log/kafka/settings.js';
import type { EventLog } from './platform/event-log/port.js';
import { openPostgresLog } from './platform/event-log/postgres-log.js';
import type { Logger } from './platform/logging.js';
import { pruneSent } from './platform/outbox/milestones.js';
import type { Outbox } from './platform/outbox/port.js';
import { openRelayedOutbox } from './platform/outbox/relayed-outbox.js';
import { startRelay } from './platform/outbox/relay.js';
import { periodically } from './platform/periodic.js';
import type { Listener } from './platform/postgres/listener.js';
import type { Pool } from './platform/postgres/pool.js';

const reachedWithinMs = 30_000;
const pruneEveryMs = 600_000;

export interface OpenedLog {
  readonly log: EventLog;
  readonly outbox: Outbox;
  /** Never resolves; rejects when the log can never be used. */
  readonly failed: Promise<never>;
  /** Resolves when the log answers; rejects when it does not in half a minute. */
  reached(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  /** The pool's. */
  readonly url: string;
  /** Hears `linklog_log` and `linklog_sent`. */
  readonly listener: Listener;
  readonly logger: Logger;
}

const never = new Promise<never>(() => undefined);

/** Log and outbox are one table. */
const openEmbedded = async (options: Options): Promise<OpenedLog> => {
  await claimHome(options.pool, postgresHome);
  const { log, outbox } = await openPostgresLog(options);
  return {
    log,
    outbox,
    failed: never,
    reached: () => Promise.resolve(),
    close: () => log.close(),
  };
};

/** Resolves when Kafka answers. @throws when it does not in half a minute */
const reach = async (log: KafkaLog, { brokers }: KafkaSettings): Promise<void> => {
  const late = sleep(reachedWithinMs, undefined, { ref: false }).then(() => {
    throw new Error(`KAFKA_BROKERS: Kafka at ${brokers.join(',')} does not answer`);
  });
  await Promise.race([log.ready, late]);
};

/** The table is the outbox, and a relay sends what is in it to Kafka. */
const openOnKafka = async (settings: KafkaSettings, options: Options): Promise<OpenedLog> => {
  const { pool, url, listener, logger } = options;
  const claim = (home: string): Promise<void> => claimHome(pool, home);
  await requireNotAtHome(pool, `kafka:${settings.brokers.join(',')}`);
  const local = await openPostgresLog(options);
  const log = openKafkaLog({ settings, logger, claim });
  const outbox = await openRelayedOutbox({ pool, listener, outbox: local.outbox });
  const relay = startRelay({ pool, url, listener, log, logger });
  const pruning = periodically({
    name: 'prune the outbox',
    everyMs: pruneEveryMs,
    task: () => pruneSent(pool, (topic, partition) => appliedThrough(pool, topic, partition)),
    logger,
  });
  return {
    log,
    outbox,
    failed: log.ready.then(() => never),
    reached: () => reach(log, settings),
    async close() {
      await Promise.all([relay.stop(), pruning.stop()]);
      outbox.stop();
      await log.close();
      await local.log.close();
    },
  };
};

/**
 * Opens the log that is configured, and the ledger's outbox in front of it.
 *
 * @throws ForeignHome when the database's events belong to another log
 */
export const openEventLog = (
  { kafka }: Pick<Config, 'kafka'>,
  options: Options,
): Promise<OpenedLog> => (kafka === null ? openEmbedded(options) : openOnKafka(kafka, options));

/**
 * Opens the log alone, beside a running service: for who reads it and decides nothing.
 *
 * @throws ForeignHome
 */
export const openLogToRead = async (
  settings: KafkaSettings | null,
  { pool, url, logger }: Omit<Options, 'listener'>,
): Promise<EventLog> => {
  if (settings === null) {
    await requireHome(pool, postgresHome);
    return (await openPostgresLog({ pool, url, logger })).log;
  }
  const claim = (home: string): Promise<void> => requireHome(pool, home);
  const log = openKafkaLog({ settings, logger, claim });
  try {
    await reach(log, settings);
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
};
