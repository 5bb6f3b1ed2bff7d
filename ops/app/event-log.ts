import { setTimeout as sleep } from 'node:timers/promises';
import {
  appliedEnds,
  appliedThrough,
  sequenceStates,
  subjectsSetAside,
} from '../../projectors/main.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import { findUnknownEvent, watchLedger } from '../ledger/behind-log.js';
import { firstFailure, never, settledWithin } from '../platform/concurrency/deferred.js';
import { periodically } from '../platform/concurrency/periodic.js';
import type { Config } from '../config/config.js';
import { faultsOf, summarize, watchFaults, type LogFault } from '../event-log/kafka/log-faults.js';
import type { KafkaSettings } from '../event-log/kafka/settings.js';
import {
  bindToLog,
  embeddedLog,
  isBoundTo,
  requireBoundTo,
  requireNotEmbedded,
} from '../event-log/log-binding.js';
import type { EventLog, KnownEnd } from '../event-log/port.js';
import { openPostgresLog } from '../event-log/postgres-log.js';
import type { Logger } from '../platform/logging.js';
import type { OnRecorded } from '../event-log/outbox/outbox-metrics.js';
import { deliveredAtCommit, type Outbox, type OutboxDelivery } from '../event-log/outbox/port.js';
import {
  pruneSent,
  relayedTopics,
  sentEnds,
  sentThrough,
  startRelay,
  type ProjectedEvents,
} from '../event-log/outbox/relay.js';
import { startOrStop, type Register } from '../platform/process/start-in-order.js';
import { openRelayedDelivery } from '../event-log/outbox/relayed-delivery.js';
import type { Channel, NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';

const answersWithinMs = 30_000;
/** How long a start waits for Kafka, before it goes on without. */
const startWithoutMs = 1_000;
/** How long a start waits for what the end of Kafka's log says. */
const checkedWithinMs = 5_000;
const pruneEveryMs = 600_000;

export interface OpenedLog {
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  /** Never resolves; rejects when the log can never be used, or the ledger is older. */
  readonly failed: Promise<never>;
  /**
   * Resolves when the ledger is not older than the log, as far as can be told in some seconds.
   *
   * @throws LedgerBehindLog
   */
  readonly untilChecked: () => Promise<void>;
  /** An event of the ledger that the log has and the ledger does not know; `null`: none. */
  readonly findUnknownEvent: () => Promise<LinklogEvent | null>;
  /** Resolves when the log answers; rejects when it does not in half a minute, or lacks a topic. */
  untilAnswering(): Promise<void>;
  /** Checks the log for faults now; see `LogFault`. The embedded log has none. */
  readonly findFaults: () => Promise<readonly LogFault[]>;
  /** The faults that a service has found last, for the metrics. */
  readonly faults: () => readonly LogFault[];
  /**
   * Resolves when the log can be used now and has no fault, as far as is known; for the health check.
   *
   * @throws DependencyFault; the cause why the log cannot be used
   */
  check(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  /** For what requests wait for; by default `pool`. */
  readonly requestPool?: Pool;
  /** The pool's. */
  readonly url: string;
  /** Hears the `logChannels`. */
  readonly listener: NotificationListener;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded;
  /**
   * `service` unless told. A `command` beside a running service binds no log, and none but a service
   * relays and prunes, once: not a `thread` of it; while a restore fills the log, the ledger is older.
   */
  readonly user?: 'service' | 'thread' | 'command' | 'restore';
}

/** The channels that a log needs heard. On Kafka, the relay hears what is recorded, and others what it has sent. */
export const logChannels = (
  { kafka }: Pick<Config, 'kafka'>,
  { subscribes }: { readonly subscribes: boolean },
): readonly Channel[] => {
  if (kafka !== null) return ['linklog_log', 'linklog_sent'];
  return subscribes ? ['linklog_log'] : [];
};

const openEmbedded = async (options: Options): Promise<OpenedLog> => {
  await (options.user === 'command' ? requireBoundTo : bindToLog)(options.pool, embeddedLog);
  const { log, outbox } = await openPostgresLog(options);
  return {
    log,
    outbox,
    delivery: deliveredAtCommit,
    failed: never,
    untilChecked: () => Promise.resolve(),
    // One transaction writes both.
    findUnknownEvent: () => Promise.resolve(null),
    untilAnswering: () => Promise.resolve(),
    findFaults: () => Promise.resolve([]),
    faults: () => [],
    async check() {
      await log.ranges(topics.platform.name);
    },
    close: () => log.close(),
  };
};

/** The table is the outbox, and a relay sends its events to Kafka. */
const openOnKafka = async (
  settings: KafkaSettings,
  options: Options,
  onFailure: Register,
): Promise<OpenedLog> => {
  const { pool, url, listener, logger, user = 'service' } = options;
  const brokers = settings.brokers.join(',');
  await requireNotEmbedded(pool, `kafka:${brokers}`);
  // Loaded here: without Kafka, the start is a tenth of a second shorter.
  const { openKafkaLog } = await import('../event-log/kafka/kafka-log.js');
  // Read before `openRelayedDelivery` adds those that are new in this version.
  const createdTopics = await relayedTopics(pool);
  // A request waits for the relay.
  const { outbox } = await openPostgresLog({ ...options, announcementMs: 0 });
  const log = openKafkaLog({
    settings,
    logger,
    binding: {
      createdTopics: async (name) => ((await isBoundTo(pool, name)) ? createdTopics : new Set()),
      bind: (name) => (user === 'command' ? requireBoundTo : bindToLog)(pool, name),
    },
  });
  onFailure(() => log.close());
  const delivery = await openRelayedDelivery({ pool: options.requestPool ?? pool, listener });
  const projected: ProjectedEvents = {
    appliedThrough: (topic, partition) => appliedThrough(pool, topic, partition),
    setAside: (topic) => subjectsSetAside(pool, topic),
    states: (topic, partition, events) => sequenceStates(pool, topic, partition, events),
  };
  // A PostgreSQL that crashed may have lost the last checkpoints: COMMIT does not wait for the disk.
  const unsubscribe = listener.onGap((state) => {
    if (state === 'back') log.relocate();
  });
  const ledger = {
    pool,
    log,
    knownThrough: (topic: TopicName, partition: number) => sentThrough(pool, topic, partition),
  };
  let knownEnds: readonly KnownEnd[] = [];
  const findFaults = async (): Promise<readonly LogFault[]> => {
    try {
      knownEnds = [...(await sentEnds(pool)), ...(await appliedEnds(pool))];
    } catch (err) {
      // PostgreSQL is unavailable, which its users report: what it said last still holds.
      logger.debug({ err }, 'the ends of the log that PostgreSQL knows could not be read');
    }
    return faultsOf(await log.inspect(), knownEnds);
  };
  const faultWatch = user === 'service' ? watchFaults({ find: findFaults, logger }) : null;
  const watch = user === 'service' ? watchLedger({ ...ledger, listener, logger }) : null;
  const tasks = watch
    ? [
        startRelay({
          ...{ pool, url, listener, log, projected, logger },
          mayBegin: () => watch.upToDate(),
        }),
        periodically({
          name: 'prune the outbox',
          everyMs: pruneEveryMs,
          task: () => pruneSent(pool, projected),
          logger,
        }),
      ]
    : [];
  return {
    log,
    outbox,
    delivery,
    failed: firstFailure([log.ready.then(() => never), watch?.failed ?? never]),
    async untilChecked() {
      if (!watch || !(await settledWithin(log.ready, startWithoutMs))) return;
      const late = sleep(checkedWithinMs, undefined, { ref: false });
      await Promise.race([watch.upToDate(), watch.failed, late]);
    },
    findUnknownEvent: () => findUnknownEvent(ledger),
    async untilAnswering() {
      const late = sleep(answersWithinMs, undefined, { ref: false }).then(() => {
        const cause = log.startFailure();
        const reason = cause?.message ?? `Kafka at ${brokers} does not answer`;
        throw new Error(`KAFKA_BROKERS: ${reason}`, { cause });
      });
      await Promise.race([log.ready, log.topicMissing, late]);
    },
    findFaults,
    faults: () => faultWatch?.faults() ?? [],
    async check() {
      const fault = summarize(faultWatch?.faults() ?? []);
      if (fault?.severity !== 'down') await log.check();
      if (fault) throw fault;
    },
    async close() {
      unsubscribe();
      watch?.stop();
      await Promise.all([...tasks, ...(faultWatch ? [faultWatch] : [])].map((task) => task.stop()));
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
): Promise<OpenedLog> =>
  kafka === null
    ? openEmbedded(options)
    : startOrStop(options.logger, (onFailure) => openOnKafka(kafka, options, onFailure));
