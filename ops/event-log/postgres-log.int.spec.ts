import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { topicNames, topics } from '../../schemas/events/topics.js';
import { eventually, rejection } from '../test/support/waiting.js';
import { startTcpProxy } from '../test/support/tcp-proxy.js';
import { createLogger } from '../platform/logging.js';
import { listenToPostgres } from '../platform/postgres/listener.js';
import { execute, transaction } from '../platform/postgres/pool.js';
import { partitionOf } from './partition.js';
import type { Batch, NewRecord } from './port.js';
import { describeEventLog } from '../test/conformance/event-log/event-log.suite.js';
import {
  codeIn,
  eventIn,
  eventIdOf,
  manyPartitions,
  newCode,
  recordsOf,
} from '../test/conformance/event-log/events.js';
import {
  connectPostgres,
  openPostgresHarness,
  type PostgresClient,
} from '../test/conformance/event-log/postgres-harness.js';
import { Positions, startReader, type LogReader } from '../test/conformance/event-log/reader.js';
import { PartitionsDiffer } from './postgres-partitions.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { fixture } from '../test/support/fixture.js';

const links = topics.links.name;
const logger = createLogger('silent');

describeEventLog('embedded in PostgreSQL', () => openPostgresHarness('log'));

describe('platform: embedded log, apart from the suite', () => {
  const harness = fixture(
    () => openPostgresHarness('embedded_log'),
    (harness) => harness.close(),
  );
  let client: PostgresClient;
  let readers: LogReader[] = [];

  before(async () => {
    client = await harness.connect();
  });

  afterEach(async () => {
    await Promise.all(readers.map(({ subscription }) => subscription.stop()));
    readers = [];
  });

  const follow = (...args: Parameters<typeof startReader>): LogReader => {
    const reader = startReader(...args);
    readers.push(reader);
    return reader;
  };

  const batchSizes = async (
    records: readonly NewRecord[],
    positions: Positions,
    options: { readonly maxBatch?: number } = {},
  ): Promise<readonly number[]> => {
    const sizes: number[] = [];
    const handle = (batch: Batch): Promise<void> => {
      sizes.push(batch.records.length);
      return Promise.resolve();
    };
    const reader = follow(client.log, { topics: [links], positions, handle, ...options });
    await reader.has(records.map(eventIdOf));
    return sizes;
  };

  it('splits rows at the ends of batches', async () => {
    const positions = await Positions.atEnd(client.log, [links]);
    const backlog = recordsOf(links, newCode(), 8_400);
    for (let from = 0; from < backlog.length; from += 700) {
      await client.log.append(links, backlog.slice(from, from + 700));
    }
    const sizes = await batchSizes(backlog, positions, { maxBatch: 5_000 });
    expect(sizes).to.deep.equal([1_000, 5_000, 2_400]);
  });

  it('reads no rows without a text', async () => {
    const code = newCode();
    const begins = await client.log.ranges(links);
    for (const subject of [code, code, 'x']) {
      await client.log.append(links, recordsOf(links, subject, 700));
    }
    const range = begins[partitionOf(code, begins.length)];
    if (!range) throw new Error('the topic lacks a partition');
    const { partition, next } = range;
    const sizeOf = async (text: string) => {
      let size = 0;
      for await (const { records } of client.log.read(links, partition, next, next + 1_400, text)) {
        size += records.length;
      }
      return size;
    };
    expect(await sizeOf(`"subject":"${code}"`)).to.equal(1_400);
    expect(await sizeOf('"subject":"absent"')).to.equal(0);
  });

  it('skips existing events of the ledger with known sequences', async () => {
    const positions = await Positions.atEnd(client.log, [links]);
    const code = newCode();
    const events = recordsOf(links, code, 4);
    const restored = (...sequences: readonly number[]) =>
      sequences.flatMap((sequence) => {
        const record = events[sequence - 1];
        return record ? [{ ...record, ledgerSequence: sequence }] : [];
      });
    await client.log.append(links, restored(1, 2, 1));
    await client.log.append(links, restored(2, 3, 2, 4, 3));
    await client.log.append(links, restored(1, 4));
    const reader = follow(client.log, { topics: [links], positions });
    await reader.has(events.map(eventIdOf));
    expect(reader.ids).to.deep.equal(events.map(eventIdOf));
  });

  it('limits notifications, and readers find records without one', async () => {
    const seldom = await connectPostgres(harness.database.url, { announcementMs: 60_000 });
    const listener = listenToPostgres(harness.database.url, ['linklog_log'], logger);
    try {
      let heard = 0;
      listener.on('linklog_log', () => {
        heard += 1;
      });
      await eventually('it listens', () => listener.listening);
      const reader = follow(seldom.log, {
        topics: [links],
        positions: await Positions.atEnd(seldom.log, [links]),
      });
      const records = recordsOf(links, newCode(), 40);
      for (const record of records) {
        await seldom.log.append(links, [record]);
        await transaction(seldom.pool, (tx) =>
          execute(tx, seldom.outbox.record([eventIn(links, newCode(), 1)])),
        );
      }
      await reader.has(records.map(eventIdOf));
      expect(heard).to.equal(1);
    } finally {
      await listener.close();
      await Promise.all(readers.splice(0).map(({ subscription }) => subscription.stop()));
      await seldom.crash();
    }
  });

  it('announces the next append after a rollback', async () => {
    const seldom = await connectPostgres(harness.database.url, { announcementMs: 60_000 });
    const listener = listenToPostgres(harness.database.url, ['linklog_log'], logger);
    try {
      const heard: string[] = [];
      listener.on('linklog_log', (topic) => heard.push(topic));
      await eventually('it listens', () => listener.listening);
      const rolledBack = transaction(seldom.pool, async (tx) => {
        await execute(tx, seldom.outbox.record([eventIn(links, newCode(), 1)]));
        throw new Error('rolled back');
      });
      await rejection(rolledBack);
      await seldom.log.append(links, recordsOf(links, newCode(), 1));
      await eventually('the notification arrives', () => heard.length > 0);
    } finally {
      await listener.close();
      await seldom.crash();
    }
  });

  it('has a view with one row for each event', async () => {
    const code = newCode();
    const visits = topics.visits.name;
    const records = [...recordsOf(visits, code, 5), { key: code, value: 'no\nevent' }];
    await client.log.append(visits, records);
    await client.log.append(visits, recordsOf(visits, code, 1));
    const { rows } = await client.pool.query<{ partition: number; offset: number }>(
      `SELECT partition, record_offset AS offset, key, value
       FROM log.events JOIN log.partitions ON id = partition_id
       WHERE topic = $1 AND key = $2 ORDER BY record_offset`,
      [visits, code],
    );
    const [{ partition, offset: first } = { partition: 0, offset: 0 }] = rows;
    const read = [];
    for await (const batch of client.log.read(visits, partition, first, first + 7)) {
      read.push(...batch.records.map((record) => ({ partition, ...record })));
    }
    expect(rows).to.deep.equal(read);
    expect(read).to.have.lengthOf(7);
  });

  describe('without PostgreSQL', () => {
    it('leaves no connection when the listener is closed while it reconnects', async () => {
      const proxy = await startTcpProxy(harness.database.url);
      let wakes = 0;
      const listener = listenToPostgres(proxy.url, ['linklog_log'], logger);
      const wake = (state?: string): void => {
        if (state !== 'lost') wakes += 1;
      };
      listener.on('linklog_log', () => {
        wake();
      });
      listener.onGap(wake);
      await eventually('it listens', () => wakes > 0);
      proxy.pause();
      await harness.cutConnections();
      await eventually('the old connection is gone', () => proxy.connections() === 0);
      await eventually('a new one is being made', () => proxy.connections() === 1);
      const closed = listener.close();
      proxy.resume();
      await closed;
      await eventually('no connection is left', () => proxy.connections() === 0);
      await proxy.close();
    });
  });

  describe('its partitions', () => {
    it('are created once, also by concurrent processes', async () => {
      const { pool } = harness.database;
      const { rows: before } = await pool.query('SELECT * FROM log.partitions ORDER BY id');
      await transaction(pool, async (tx) => {
        await tx.query('DELETE FROM log.partitions; DELETE FROM log.records');
      });
      const clients = await Promise.all(
        Array.from({ length: 5 }, () => connectPostgres(harness.database.url)),
      );
      const counts = await pool.query(
        `SELECT topic, count(*) AS partitions, max(partition) AS highest FROM log.partitions
         GROUP BY topic ORDER BY topic`,
      );
      expect(before).to.have.lengthOf(22);
      expect(counts.rows).to.have.deep.members(
        Object.values(topics).map(({ name, partitions }) => ({
          topic: name,
          partitions,
          highest: partitions - 1,
        })),
      );
      // All of them know the same ids: what one appends, another reads where it belongs.
      const [writer, other] = clients;
      if (!writer || !other) throw new Error('There are five');
      for (const topic of manyPartitions) {
        const records = recordsOf(topic, codeIn(topic, 2), 2);
        await writer.log.append(topic, records);
        const ids = [];
        for await (const batch of other.log.read(topic, 2, 0, 10)) {
          ids.push(...batch.records.map(eventIdOf));
        }
        expect(ids).to.deep.equal(records.map(eventIdOf));
      }
      for (const opened of clients) await opened.crash();
    });

    it('must keep their number', async () => {
      const { pool } = harness.database;
      await pool.query(`INSERT INTO log.partitions (id, topic, partition) VALUES (99, $1, 8)`, [
        links,
      ]);
      const error = await rejection(connectPostgres(harness.database.url));
      expect(error).to.be.instanceOf(PartitionsDiffer);
      expect(error).to.have.property('code', 'PARTITIONS_DIFFER');
      expect((error as Error).message).to.include(`9 partitions of ${links}`);
      await pool.query('DELETE FROM log.partitions WHERE id = 99');
    });
  });

  it('has a different id for each topic and database', async () => {
    const other = await openPostgresHarness('other_log');
    const { log } = await other.connect();
    const ids = [log, client.log].flatMap((known) => topicNames.map((topic) => known.logId(topic)));
    expect(new Set(ids).size).to.equal(2 * topicNames.length);
    await other.close();
  });

  describe('the outbox', () => {
    it('returns the events of subjects after their known sequences, in order', async () => {
      const [a, b, c] = ['a', 'b', 'c'].map((name) => `${name}-${newCode()}`) as [
        string,
        string,
        string,
      ];
      const eventsOf = (code: string, ...sequences: readonly number[]) =>
        sequences.map((sequence) => eventIn(links, code, sequence));
      const recorded = [
        ...eventsOf(a, 1, 2),
        ...eventsOf(b, 1),
        ...eventsOf(a, 3, 4),
        ...eventsOf(b, 2, 3),
        ...eventsOf(c, 1),
      ];
      await harness.decide(recorded.slice(0, 5));
      await harness.decide(recorded.slice(5));
      // Neither of another topic, nor what no ledger decided.
      await harness.decide([eventIn(topics.visits.name, a, 9)]);
      await client.log.append(links, recordsOf(links, a, 9));

      const after = await client.outbox.after(client.pool, links, [
        { subject: a, sequence: 2 },
        { subject: b, sequence: 0 },
        { subject: c, sequence: 1 },
        { subject: newCode(), sequence: 0 },
      ]);
      const due = (code: string, above: number) =>
        recorded.filter(({ subject, sequence }) => subject === code && sequence > above);
      expect(after).to.have.lengthOf(5);
      expect(after.filter(({ subject }) => subject === a)).to.deep.equal(due(a, 2));
      expect(after.filter(({ subject }) => subject === b)).to.deep.equal(due(b, 0));
      expect(await client.outbox.after(client.pool, links, [])).to.deep.equal([]);
    });

    it('returns committed events only', async () => {
      const code = newCode();
      const gate = deferred();
      const event = eventIn(links, code);
      const known = [{ subject: code, sequence: 0 }];
      await harness.decide([eventIn(links, code)], { rollBack: true });
      const decided = harness.decide([event], { hold: gate.promise });
      await sleep(50);
      expect(await client.outbox.after(client.pool, links, known)).to.deep.equal([]);
      gate.resolve();
      await decided;
      expect(await client.outbox.after(client.pool, links, known)).to.deep.equal([event]);
    });
  });
});
