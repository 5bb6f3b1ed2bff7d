import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import type { PostgresLog } from '../../../ops/event-log/postgres-log.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { transaction } from '../../../ops/platform/postgres/pool.js';
import { idsIn } from '../../../ops/test/support/archive/harness.js';
import { startEventStoreCluster } from '../../../ops/test/support/eventstore/cluster.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import { eventually, eventuallyPasses, rejection } from '../../../ops/test/support/waiting.js';
import { newEvent, topicOf } from '../../../schemas/events/codec.js';
import { topics } from '../../../schemas/events/topics.js';
import { blocked, created, noon, recordOf, unblocked } from '../../../schemas/testing/events.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { v7 as uuidv7 } from 'uuid';
import { startArchive, type Archive } from './archive.js';
import { archiveStarted, ownerStream } from './owner.js';
import { openArchiveStore } from './store.js';
import { NoPreviousProjection } from '../../runtime/previous.js';
import { restartArchive } from './work.js';

const logger = createLogger('silent');

describe('archive: state', () => {
  const own = databaseFixture('state', { per: 'test' });
  let double: EventStoreDouble;
  let opened: PostgresLog;
  let archive: Archive;

  beforeEach(async () => {
    double = await startEventStoreDouble({ commitTimeoutMs: 100 });
    opened = await openTestLog({ pool: own.pool, url: own.url, logger });
    archive = start(double.url);
  });

  afterEach(async () => {
    await archive.stop();
    await opened.log.close();
    double.kill();
  });

  const start = (url: string): Archive =>
    startArchive({ pool: own.pool, log: opened.log, store: openArchiveStore(url), logger });

  const append = async (...events: readonly LinklogEvent[]): Promise<void> => {
    for (const event of events) await opened.log.append(topicOf(event), [recordOf(event)]);
  };

  const isArchived = (): Promise<void> =>
    eventually('the archive has no lag', async () => (await archive.status()).lag === 0);

  const state = async (): Promise<string> =>
    archive.check().then(
      () => 'up',
      (error: unknown) => String((error as { readonly code?: unknown }).code),
    );

  const becomes = (expected: string): Promise<void> =>
    eventually(`the state is ${expected}`, async () => (await state()) === expected);

  const expectStream = (stream: string, events: readonly LinklogEvent[]): void => {
    expect(idsIn(double.streams, stream)).to.deep.equal(events.map(({ id }) => id));
  };

  const deadLetters = async () => (await archive.status()).deadLetters;

  /** Starts another server on the port. */
  const replace = async (options: Parameters<typeof startEventStoreDouble>[0] = {}) => {
    const { port } = double;
    double.kill();
    double = await startEventStoreDouble({ port, ...options });
  };

  it('records the log that started the archive, once', async () => {
    await append(created('a'));
    await isArchived();
    const [first, ...others] = double.streams.events(ownerStream) ?? [];
    expect(others).to.deep.equal([]);
    expect(first).to.include({ type: 'linklog.ArchiveStarted' });
    const data: unknown = JSON.parse(Buffer.from(first?.data ?? '', 'base64').toString());
    expect(data).to.deep.equal({
      topics: Object.fromEntries(
        Object.values(topics).map(({ name }) => [name, opened.log.logId(name)]),
      ),
    });
    await archive.stop();
    archive = start(double.url);
    await append(blocked('a', 2));
    await isArchived();
    expect(double.streams.events(ownerStream)).to.have.length(1);
  });

  it('records the log in an archive that an earlier version of Linklog started', async () => {
    await append(created('a'));
    await isArchived();
    double.streams.cut(ownerStream, 0);
    await becomes('up');
    await append(blocked('a', 2));
    await isArchived();
    await eventually('the log is recorded', async () => {
      await archive.check();
      return double.streams.events(ownerStream)?.length === 1;
    });
  });

  it('is ACCESS_DENIED for a user who may only read', async () => {
    expect(await state()).to.equal('up');
    double.permitAppends(false);
    await becomes('ACCESS_DENIED');
    await append(created('a'));
    await becomes('ACCESS_DENIED');
    double.permitAppends(true);
    await isArchived();
    await becomes('up');
  });

  it('is up whatever the retention of the stream `platform`', async () => {
    for (const sequence of [1, 2, 3]) {
      const metadata = { id: uuidv7(), subject: 'platform', sequence, time: noon };
      await append(newEvent('MaintenanceSwitched', { on: true }, metadata));
    }
    await isArchived();
    double.streams.retain('platform', { $maxCount: 1 });
    expect(await state()).to.equal('up');
    double.streams.tombstone('platform');
    expect(await state()).to.equal('up');
  });

  it('is TIMEOUT while nothing is committed, and UNAVAILABLE without a server', async () => {
    double.streams.hasQuorum = false;
    await append(created('a'));
    await becomes('TIMEOUT');
    double.kill();
    await becomes('UNAVAILABLE');
    double = await startEventStoreDouble({ port: double.port });
    await isArchived();
    await becomes('up');
  });

  it('is ARCHIVE_CUT for an emptied server, without traffic and without writing to it', async () => {
    await append(created('a'));
    await isArchived();
    await replace();
    await becomes('ARCHIVE_CUT');
    await append(created('b'));
    await becomes('ARCHIVE_CUT');
    expect(double.streams.names()).to.deep.equal([]);
  });

  it('is ARCHIVE_CUT for an older server, without traffic', async () => {
    await append(created('a'), blocked('a', 2), created('b'));
    await isArchived();
    const { streams } = double;
    streams.cut('link-b', 0);
    await replace({ streams });
    await becomes('ARCHIVE_CUT');
  });

  describe('given an archive of another log', () => {
    it('is ARCHIVE_FOREIGN, and writes nothing', async () => {
      const other = archiveStarted({ logId: (topic) => `other-${topic}` });
      const store = openArchiveStore(double.url);
      await store.append(ownerStream, 0, [other]);
      await append(created('a'));
      await becomes('ARCHIVE_FOREIGN');
      expect(double.streams.names()).to.deep.equal([ownerStream]);
      await store.append(ownerStream, 1, [archiveStarted(opened.log)]);
      await store.close();
      await isArchived();
      await becomes('up');
      expect(await deadLetters()).to.equal(0);
    });

    it('is ARCHIVE_FOREIGN if a stream has an event that the log does not have', async () => {
      await append(created('a'));
      await isArchived();
      const event = { type: 'theirs', contentType: 'application/json', data: '', metadata: '' };
      double.streams.append('link-a', 0, [{ ...event, id: uuidv7() }]);
      await append(blocked('a', 2));
      await becomes('ARCHIVE_FOREIGN');
      const codes = Array.from({ length: 40 }, (_, index) => `code-${index}`);
      await append(...codes.map((code) => created(code)));
      await becomes('ARCHIVE_FOREIGN');
      const subjects = new Set(double.streams.names());
      expect([...subjects].sort()).to.deep.equal(['link-a', ownerStream]);
      expect(await deadLetters()).to.equal(0);
      double.streams.cut('link-a', 1);
      await isArchived();
      await becomes('up');
    });
  });

  describe('given a server that does not respond', () => {
    const countCalls = (): number => double.calls.read + double.calls.append;
    const event = created('a');

    beforeEach(async () => {
      await archive.check();
      double.stall();
      Object.assign(double.calls, { read: 0, append: 0 });
      await append(event);
      await eventually('the first call arrives', () => countCalls() === 1);
    });

    it('continues after its deadline', async () => {
      await eventually('the second call arrives', () => countCalls() === 2);
      double.resume();
      await isArchived();
      expectStream('link-a', [event]);
    });

    it('stops immediately, without a second attempt', async () => {
      await archive.stop();
      expect(countCalls()).to.equal(1);
      expect((await archive.status()).lag).to.equal(1);
    });

    it('stops after a read without a response', async () => {
      const store = openArchiveStore(double.url);
      expect(await rejection(store.read('link-a', 0, 1))).to.include({ code: 'TIMEOUT' });
      await store.close();
      double.resume();
    });
  });

  describe('given several hosts', () => {
    const silent: Server[] = [];

    const silentHost = async (): Promise<string> => {
      const server = createServer().listen(0, '127.0.0.1');
      silent.push(server);
      await once(server, 'listening');
      return `127.0.0.1:${(server.address() as { port: number }).port}`;
    };

    afterEach(() => {
      for (const server of silent.splice(0)) server.close();
    });

    for (const scheme of ['esdb', 'esdb+discover', 'kurrentdb', 'kdb+discover']) {
      it(`uses all of them: ${scheme}`, async () => {
        const host = `127.0.0.1:${double.port}`;
        const store = openArchiveStore(`${scheme}://127.0.0.1:1,${host}?tls=false`);
        expect(await store.probe('link-a')).to.deep.equal({ type: 'conflict', last: -1 });
        await store.close();
      });
    }

    it('discovers the leader within the deadline of an append', async () => {
      const store = openArchiveStore(`esdb+discover://${await silentHost()}?tls=false`);
      expect(await rejection(store.probe('a'))).to.include({ code: 'TIMEOUT' });
      await store.close();
    });

    it('leaves a hung leader', async () => {
      const cluster = await startEventStoreCluster();
      await archive.stop();
      archive = start(cluster.url);
      await append(created('a'));
      await isArchived();
      await cluster.hang('leader');
      await append(blocked('a', 2));
      await isArchived();
      expect(idsIn(cluster.streams, 'link-a')).to.have.length(2);
      await eventuallyPasses(() => archive.check());
      await cluster.heal();
      cluster.kill();
    });
  });

  describe('given work of operators while it runs', () => {
    it('rebuilds idle partitions too: events stay, and lost ones are written again', async () => {
      const events = ['a', 'b', 'c', 'd'].map((code) => created(code));
      await append(...events);
      await isArchived();
      double.streams.cut('link-b', 0);
      expect(await restartArchive(own.pool, 'rebuild')).to.equal(4);
      await eventually(
        'the lost event is back',
        () => idsIn(double.streams, 'link-b').length === 1,
      );
      await isArchived();
      for (const [index, code] of ['a', 'b', 'c', 'd'].entries()) {
        expectStream(`link-${code}`, events.slice(index, index + 1));
      }
    });

    it('rebuilds before a batch whose transaction waits for the rebuild', async () => {
      const { pool } = own;
      const events = [created('a'), blocked('a', 2), unblocked('a', 3)];
      const waiting = async (count: number): Promise<boolean> => {
        const { rowCount } = await pool.query(
          `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
           WHERE datname = current_database() AND NOT granted`,
        );
        return rowCount === count;
      };
      await append(...events.slice(0, 2));
      await isArchived();
      const rebuilt = await transaction(pool, async (tx) => {
        await tx.query('SELECT FROM archive.streams');
        const restarted = restartArchive(pool, 'rebuild');
        await eventually('the rebuild has locked the checkpoints', () => waiting(1));
        await append(...events.slice(2));
        await eventually('a batch has begun', () => waiting(2));
        return { restarted };
      });
      await rebuilt.restarted;
      await isArchived();
      expectStream('link-a', events);
      await archive.check();
    });

    it('redrives dead letters and parked events in order, at their revisions', async () => {
      const url = `https://example.com/${'x'.repeat(3_000)}`;
      const large = created('large', { url }, { sequence: 2 });
      await replace({ streams: double.streams, maxAppendSize: 3_000 });
      const events = [created('large'), large, blocked('large', 3), unblocked('large', 4)];
      await append(...events, created('other'));
      await isArchived();
      expect(await archive.status()).to.include({ deadLetters: 1, parked: 2 });
      expect(await restartArchive(own.pool, 'redrive')).to.be.at.least(4);
      await isArchived();
      expect(await archive.status()).to.include({ deadLetters: 1, parked: 2 });
      expectStream('link-large', events.slice(0, 1));

      await replace({ streams: double.streams });
      await restartArchive(own.pool, 'redrive');
      await eventually(
        'the subject is complete',
        () => idsIn(double.streams, 'link-large').length === 4,
      );
      await isArchived();
      expectStream('link-large', events);
      expect(await archive.status()).to.include({ deadLetters: 0, parked: 0 });
      expect(await restartArchive(own.pool, 'redrive')).to.equal(0);
    });

    it('refuses a rollback', async () => {
      const refusal = await rejection(restartArchive(own.pool, 'rollback'));
      expect(refusal).to.be.instanceOf(NoPreviousProjection);
      expect((refusal as Error).message).to.include('rebuild it instead');
    });
  });
});
