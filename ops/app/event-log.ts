import {
  appliedEnds,
  appliedThrough,
  sequenceStates,
  subjectsSetAside,
} from '../../projectors/main.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import { findUnknownEvent, watchLedger } from '../ledger/behind-log.js';
import { endsWithin } from '../platform/concurrency/deadline.js';
import { firstFailure, never } from '../platform/concurrency/deferred.js';
import { periodically } from '../platform/concurrency/periodic.js';
import { groupBy } from '../platform/collections.js';
import type { Config } from '../config/config.js';
import { requestsOf, startAppendSpans } from '../event-log/append-spans.js';
import { faultsOf, summarize, watchFaults, type LogFault } from '../event-log/kafka/log-faults.js';
import type { KafkaSettings } from '../event-log/kafka/settings.js';
import type { TopicSettings } from '../event-log/kafka/topics.js';
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
import { startOrStop, type Register } from '../platform/process/lifecycle.js';
import { openRelayedDelivery } from '../event-log/outbox/relayed-delivery.js';
import type { Channel, NotificationListener } from '../platform/postgres/listener.js';
import type { Pool } from '../platform/postgres/pool.js';

const availableTimeoutMs = 30_000;
/** How long a start waits for Kafka before it continues without it. */
const startTimeoutMs = 1_000;
/** How long a start waits for the comparison of the ledger with the end of Kafka's log. */
const checkTimeoutMs = 5_000;
const pruneIntervalMs = 600_000;

export interface OpenedLog {
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  /** Never resolves. Rejects if the log is unusable for ever or the ledger is older than the log. */
  readonly failed: Promise<never>;
  /** Compares the ledger with the end of the log, for a few seconds at most. @throws LedgerBehindLog */
  readonly untilChecked: () => Promise<void>;
  /** Finds an event of the ledger's topics that is in the log but not in the ledger; `null` if there is none. */
  readonly findUnknownEvent: () => Promise<LinklogEvent | null>;
  /** Resolves when the log is available. Rejects if it is not within 30 s or if a topic is missing. */
  untilAvailable(): Promise<void>;
  /** Checks the log for faults now. The embedded log has none. */
  readonly findFaults: () => Promise<readonly LogFault[]>;
  /** How Kafka stores the topics; empty for the embedded log. */
  readonly topicSettings: () => Promise<readonly TopicSettings[]>;
  /** Whether the relay to Kafka runs in this process; `null` without Kafka. */
  readonly isRelay: (() => boolean) | null;
  /** The faults that the last periodic check of a service found. */
  readonly faults: () => readonly LogFault[];
  /** The health check. @throws DependencyFault for a known fault; the cause if the log is unusable */
  check(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  /** The pool of queries that requests wait for; the default is `pool`. */
  readonly requestPool?: Pool;
  /** The database of the pool. */
  readonly url: string;
  readonly listener: NotificationListener;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded;
  /**
   * The default is `service`, the only user that relays and prunes. A `command` does not bind the log. During a `restore`,
   * the ledger is older than the log.
   */
  readonly user?: 'service' | 'thread' | 'command' | 'restore';
}

/** On Kafka, the relay is notified of recorded events, and other readers of relayed events. */
export const logChannels = (
  { kafka }: Pick<Config, 'kafka'>,
  { subscribes }: { readonly subscribes: boolean },
): readonly Channel[] => {
  if (kafka !== null) return ['linklog_log', 'linklog_sent'];
  return subscribes ? ['linklog_log'] : [];
};

const openEmbedded = async (options: Options): Promise<OpenedLog> => {
  await (options.user === 'command' ? requireBoundTo : bindToLog)(options.pool, embeddedLog);
  const { tracer } = options.pool;
  const onRecorded: OnRecorded = (events, startedAt) => {
    options.onRecorded?.(events, startedAt);
    if (!tracer) return;
    for (const [topic, ofTopic] of groupBy(events, topicOf)) {
      const append = { system: 'postgresql', topic, events: ofTopic.length, startedAt } as const;
      for (const span of startAppendSpans(tracer, requestsOf(ofTopic), append)) span.end();
    }
  };
  const { log, outbox } = await openPostgresLog({ ...options, onRecorded });
  return {
    log,
    outbox,
    delivery: deliveredAtCommit,
    failed: never,
    untilChecked: () => Promise.resolve(),
    // One transaction writes the ledger and the log.
    findUnknownEvent: () => Promise.resolve(null),
    untilAvailable: () => Promise.resolve(),
    isRelay: null,
    findFaults: () => Promise.resolve([]),
    topicSettings: () => Promise.resolve([]),
    faults: () => [],
    async check() {
      await log.ranges(topics.platform.name);
    },
    close: () => log.close(),
  };
};

const openOnKafka = async (
  settings: KafkaSettings,
  options: Options,
  onFailure: Register,
): Promise<OpenedLog> => {
  const { pool, url, listener, logger, user = 'service' } = options;
  const brokers = settings.brokers.join(',');
  await requireNotEmbedded(pool, `kafka:${brokers}`);
  // Imported here, because a start without Kafka is 0.1 s shorter without it.
  const { openKafkaLog } = await import('../event-log/kafka/kafka-log.js');
  // Read before `openRelayedDelivery` adds the topics that are new in this version.
  const createdTopics = await relayedTopics(pool);
  // Requests wait for the relay, so it is notified immediately.
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
  const delivery = await openRelayedDelivery({
    pool: options.requestPool ?? pool,
    listener,
    isReachable: () => log.isReachable(),
  });
  const projected: ProjectedEvents = {
    appliedThrough: (topic, partition) => appliedThrough(pool, topic, partition),
    setAside: (topic) => subjectsSetAside(pool, topic),
    states: (topic, partition, events) => sequenceStates(pool, topic, partition, events),
  };
  // A crash of PostgreSQL may lose the last checkpoints, because their COMMIT is asynchronous.
  const unsubscribe = [
    listener.onGap((state) => {
      if (state === 'back') log.relocate();
    }),
    listener.on('linklog_log', log.relocate),
  ];
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
      // Other users of PostgreSQL report that it is unavailable. The last ends remain valid lower bounds.
      logger.debug(
        { err },
        'postgres is unavailable; checking the log against its last known ends',
      );
    }
    return faultsOf(await log.inspect(), knownEnds);
  };
  const faultWatch = user === 'service' ? watchFaults({ find: findFaults, logger }) : null;
  const watch = user === 'service' ? watchLedger({ ...ledger, listener, logger }) : null;
  const relay = watch
    ? startRelay({
        ...{ pool, url, listener, log, projected, logger },
        mayBegin: () => watch.upToDate(),
      })
    : null;
  const tasks = relay
    ? [
        relay,
        periodically({
          name: 'prune the outbox',
          everyMs: pruneIntervalMs,
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
      if (!watch || !(await endsWithin(log.ready, startTimeoutMs))) return;
      const checked = Promise.race([watch.upToDate(), watch.failed]);
      if (await endsWithin(checked, checkTimeoutMs)) await checked;
    },
    findUnknownEvent: () => findUnknownEvent(ledger),
    async untilAvailable() {
      const available = Promise.race([log.ready, log.topicMissing]);
      if (await endsWithin(available, availableTimeoutMs)) return available;
      const cause = log.startFailure();
      const reason = cause?.message ?? `Kafka at ${brokers} does not respond`;
      throw new Error(`KAFKA_BROKERS: ${reason}`, { cause });
    },
    isRelay: () => relay?.isActive() ?? false,
    findFaults,
    topicSettings: () => log.topicSettings(),
    faults: () => faultWatch?.faults() ?? [],
    async check() {
      const fault = summarize(faultWatch?.faults() ?? []);
      if (fault?.severity !== 'down') await log.check();
      if (fault) throw fault;
    },
    async close() {
      for (const stop of unsubscribe) stop();
      watch?.stop();
      await Promise.all([...tasks, ...(faultWatch ? [faultWatch] : [])].map((task) => task.stop()));
      delivery.stop();
      await log.close();
    },
  };
};

/**
 * Opens the configured log and the ledger's outbox.
 *
 * @throws ForeignLog if the events of the database belong to another log
 */
export const openEventLog = (
  { kafka }: Pick<Config, 'kafka'>,
  options: Options,
): Promise<OpenedLog> =>
  kafka === null
    ? openEmbedded(options)
    : startOrStop(options.logger, (onFailure) => openOnKafka(kafka, options, onFailure));
