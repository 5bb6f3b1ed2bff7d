import { expect } from 'chai';
import { pino, type Logger } from 'pino';
import {
  appliedThrough,
  missingEvents,
  projectionStatus,
  sequenceStates,
  startProjectors,
  subjectsSetAside,
  type Projectors,
} from '../../projectors/main.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { blocked, created, keyCreated, unblocked } from '../../schemas/testing/events.js';
import { openKafkaLog } from '../event-log/kafka/kafka-log.js';
import { partitionOf } from '../event-log/partition.js';
import type { EventLog, NewRecord } from '../event-log/port.js';
import { createLogger } from '../platform/logging.js';
import { openRelayedDelivery, type RelayedDelivery } from '../event-log/outbox/relayed-delivery.js';
import {
  checkSent,
  pruneSent,
  sendAgain,
  startRelay,
  type ProjectedEvents,
} from '../event-log/outbox/relay.js';
import { listenToPostgres, type NotificationListener } from '../platform/postgres/listener.js';
import { execute, transaction } from '../platform/postgres/pool.js';
import { settingsOf } from '../test/conformance/event-log/kafka-harness.js';
import { kafkaStartMs } from '../test/support/kafka.js';
import { waitUntilCheckpointed } from '../test/support/relayed.js';
import { eventually } from '../test/support/waiting.js';
import { fixture } from '../test/support/fixture.js';
import { databaseFixture, kafkaFixture, ledgerFixture } from '../test/support/fixtures.js';

const { links, accounts } = topics;
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

  const inOutbox = async (): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ event: string }>(
      `SELECT key || ' ' || ledger_sequence AS event FROM log.records ORDER BY key, ledger_sequence`,
    );
    return rows.map(({ event }) => event);
  };

  /** Prunes the outbox as if all events had been sent more than a day ago. */
  const prune = async (): Promise<void> => {
    await database.pool.query(
      `UPDATE log.relay_checkpoints SET saved_at = saved_at - interval '25 hours'`,
    );
    await pruneSent(database.pool, projected);
  };

  const missing = () => missingEvents(database.pool);

  it('remain in the outbox, are reported, and sent again', async () => {
    const { pool } = database;
    const lost = [blocked('a', 2), keyCreated('key-1')];
    await send(dropping(isEvent(...lost)), created('a'), ...lost, created('b'));
    await untilProjected();
    const partition = partitionOf('a', links.partitions);
    expect(await checkSent(pool, projected)).to.have.deep.members([
      { topic: links.name, partition, subject: 'a', sequence: 2 },
      { topic: accounts.name, partition: 0, subject: 'key-1', sequence: 1 },
    ]);
    expect(await checkSent(pool, projected), 'only once').to.deep.equal([]);
    const counts = [
      { origin: 'subject', topic: accounts.name, events: 1 },
      { origin: 'subject', topic: links.name, events: 1 },
    ];
    expect(await missing()).to.deep.equal(counts);
    await prune();
    expect(await inOutbox()).to.deep.equal(['a 2', 'key-1 1']);

    expect(await sendAgain(pool, dropping(isEvent(...lost)))).to.equal(2);
    await untilProjected();
    await checkSent(pool, projected);
    expect(await missing(), 'it was lost once more').to.deep.equal(counts);

    expect(await sendAgain(pool, log)).to.equal(2);
    await untilProjected();
    await checkSent(pool, projected);
    expect(await missing()).to.deep.equal([]);
    expect(await sendAgain(pool, log)).to.equal(0);
    await prune();
    expect(await inOutbox()).to.deep.equal([]);
  });

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

  it('remain, are reported once, and are not sent again after a later event was applied', async () => {
    const { pool } = database;
    const lost = blocked('a', 2);
    await send(dropping(isEvent(lost)), created('a'), lost, unblocked('a', 3));
    await untilProjected();
    expect(await checkSent(pool, projected)).to.deep.equal([]);
    const counts = [{ origin: 'subject', topic: links.name, events: 1 }];
    expect(await missing()).to.deep.equal(counts);
    expect(await sendAgain(pool, log)).to.equal(0);
    await prune();
    expect(await inOutbox()).to.deep.equal(['a 2']);
  });
});
