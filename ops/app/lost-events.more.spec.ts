import { expect } from 'chai';
import { pino, type Logger } from 'pino';
import {
  appliedThrough,
  projectionStatus,
  sequenceStates,
  startProjectors,
  subjectsSetAside,
  type Projectors,
} from '../../projectors/main.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { blocked, created } from '../../schemas/testing/events.js';
import { openKafkaLog } from '../event-log/kafka/kafka-log.js';
import type { EventLog, NewRecord } from '../event-log/port.js';
import { createLogger } from '../platform/logging.js';
import { openRelayedDelivery, type RelayedDelivery } from '../event-log/outbox/relayed-delivery.js';
import { startRelay, type ProjectedEvents } from '../event-log/outbox/relay.js';
import { listenToPostgres, type NotificationListener } from '../platform/postgres/listener.js';
import { execute, transaction } from '../platform/postgres/pool.js';
import { settingsOf } from '../test/conformance/event-log/kafka-harness.js';
import { kafkaStartMs } from '../test/support/kafka.js';
import { waitUntilCheckpointed } from '../test/support/relayed.js';
import { eventually } from '../test/support/waiting.js';
import { fixture } from '../test/support/fixture.js';
import { databaseFixture, kafkaFixture, ledgerFixture } from '../test/support/fixtures.js';

const { links } = topics;
const silent = createLogger('silent');

describe('composition root: acknowledged events that are missing in Kafka', function () {
  this.timeout(60_000);
  const kafka = kafkaFixture('lost_events', { per: 'test' });
  const database = databaseFixture('lost_events', { per: 'test' });
  const node = ledgerFixture(database, { per: 'test' });
  const log = fixture(
    () => openKafkaLog({ settings: settingsOf(kafka), logger: silent }),
    (log) => log.close(),
    { per: 'test' },
  );
  let listener: NotificationListener;
  let delivery: RelayedDelivery;
  let projectors: Projectors;
  let projected: ProjectedEvents;

  beforeEach(async function () {
    this.timeout(kafkaStartMs);
    await log.ready;
    listener = listenToPostgres(database.url, ['linklog_log', 'linklog_sent'], silent);
    delivery = await openRelayedDelivery({ pool: node.pool, listener });
    const { pool } = database;
    projectors = await startProjectors({ pool, log, logger: silent });
    projected = {
      appliedThrough: (topic, partition) => appliedThrough(pool, topic, partition),
      setAside: (topic) => subjectsSetAside(pool, topic),
      states: (topic, partition, events) => sequenceStates(pool, topic, partition, events),
    };
  });

  afterEach(async () => {
    await projectors.stop();
    delivery.stop();
    await listener.close();
  });

  /** A log that acknowledges, but does not store, the lost records. */
  const dropping = (isLost: (record: NewRecord) => boolean): EventLog => ({
    ...log,
    append: (topic, records) =>
      log.append(
        topic,
        records.filter((record) => 'lines' in record || !isLost(record)),
      ),
  });

  const isEvent =
    (...lost: readonly LinklogEvent[]) =>
    ({ key, value }: NewRecord): boolean =>
      lost.some(({ id, subject }) => key === subject && value.includes(id));

  const relay = (target: EventLog, logger: Logger = silent) =>
    startRelay({
      ...{ pool: node.pool, url: database.url, listener, log: target, projected, logger },
      mayBegin: () => Promise.resolve(),
    });

  /** Records events in sequence and relays them. */
  const send = async (target: EventLog, ...events: readonly LinklogEvent[]): Promise<void> => {
    const relaying = relay(target);
    for (const event of events) {
      const outboxPosition = await transaction(node.pool, (tx) =>
        execute(tx, node.outbox.record([event])),
      );
      expect(await delivery.published(outboxPosition, 20_000)).to.equal(true);
    }
    await waitUntilCheckpointed(database.pool);
    await relaying.stop();
  };

  const untilProjected = (): Promise<void> =>
    eventually('the log is projected', async () =>
      (await projectionStatus(database.pool, log)).every(({ lag }) => lag === 0),
    );

  it('are detected and sent again by the relay, with one log line', async () => {
    const event = blocked('a', 2);
    await send(dropping(isEvent(event)), created('a'), event);
    await untilProjected();
    const lines: string[] = [];
    const relaying = relay(log, pino({ level: 'error' }, { write: (line) => lines.push(line) }));
    await eventually('it is applied', async () => {
      const { rows } = await database.pool.query(
        `SELECT FROM projection_redirects.links WHERE subject = 'a' AND blocked`,
      );
      return rows.length === 1;
    });
    await relaying.stop();
    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0] ?? '')).to.include({ topic: links.name, subject: 'a', sequence: 2 });
  });
});
