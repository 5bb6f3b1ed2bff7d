import { testKafka, type TestKafka } from '../../support/kafka.js';
import type { KafkaVersion } from '../../../local/kafka/index.js';
import { createLogger, type Logger } from '../../../platform/logging.js';
import { openRelayedDelivery } from '../../../event-log/outbox/relayed-delivery.js';
import { startRelay } from '../../../event-log/outbox/relay.js';
import { listenToPostgres } from '../../../platform/postgres/listener.js';
import { execute, transaction } from '../../../platform/postgres/pool.js';
import { openKafkaLog, type KafkaLog } from '../../../event-log/kafka/kafka-log.js';
import type { KafkaSettings } from '../../../event-log/kafka/settings.js';
import { cuttableSockets, type CuttableSockets } from './cuttable-sockets.js';
import type { LogClient, LogHarness } from './harness.js';
import { openPostgresHarness } from './postgres-harness.js';

const silent = createLogger('silent');
/** Longer than any fault of the suite lasts. */
const relayedWithinMs = 20_000;

interface KafkaClient extends LogClient {
  readonly log: KafkaLog;
}

interface KafkaHarness extends LogHarness {
  readonly kafka: TestKafka;
  readonly settings: KafkaSettings;
  connect(logger?: Logger): Promise<KafkaClient>;
}

export const settingsOf = ({
  brokers,
  prefix,
}: Pick<TestKafka, 'brokers' | 'prefix'>): KafkaSettings => ({
  brokers: [brokers],
  ssl: false,
  sasl: null,
  prefix,
  replicas: null,
  minInsyncReplicas: null,
  compression: 'gzip',
});

/** The log on Kafka with new topics, and a new database with the outbox. */
export const openKafkaHarness = async (
  name: string,
  version?: KafkaVersion,
): Promise<KafkaHarness> => {
  const kafka = await testKafka(name, version);
  const settings = settingsOf(kafka);
  const postgres = await openPostgresHarness(`${name}_outbox`);
  const { url, pool } = postgres.database;
  const clients = new Map<KafkaClient, CuttableSockets>();

  const listener = listenToPostgres(url, ['linklog_log', 'linklog_sent'], silent);
  const connect = async (logger = silent): Promise<KafkaClient> => {
    const sockets = cuttableSockets();
    const log = openKafkaLog({ settings, logger, socketFactory: sockets.factory });
    const client: KafkaClient = {
      log,
      async crash() {
        if (!clients.delete(client)) return;
        sockets.kill();
        await log.close();
      },
    };
    clients.set(client, sockets);
    // As in ops/app/event-log.ts.
    listener.on('linklog_log', log.relocate);
    await log.ready;
    return client;
  };

  const relaying = await connect();
  const { outbox } = await postgres.connect();
  const delivery = await openRelayedDelivery({ pool, listener });
  const relay = startRelay({
    pool,
    url,
    listener,
    log: relaying.log,
    mayBegin: () => Promise.resolve(),
    // Without projections, the relay checks no lost records.
    projected: {
      appliedThrough: () => Promise.resolve(-1),
      setAside: () => Promise.resolve([]),
      states: () => Promise.resolve([]),
    },
    logger: silent,
  });

  return {
    kafka,
    settings,
    connect,
    async decide(events, { hold, rollBack = false } = {}) {
      if (rollBack) return postgres.decide(events, { ...(hold && { hold }), rollBack });
      const outboxPosition = await transaction(pool, async (tx) => {
        const recorded = await execute(tx, outbox.record(events));
        await hold;
        return recorded;
      });
      if (!(await delivery.published(outboxPosition, relayedWithinMs)))
        throw new Error(`not relayed within ${relayedWithinMs} ms`);
    },
    notifyMoved: (group) => postgres.notifyMoved(group),
    async cutConnections() {
      for (const sockets of clients.values()) sockets.cut();
      await postgres.cutConnections();
    },
    async close() {
      await relay.stop();
      delivery.stop();
      await listener.close();
      for (const { log } of clients.keys()) await log.close();
      await postgres.close();
      await kafka.drop();
    },
  };
};
