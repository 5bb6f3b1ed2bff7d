import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import type { PostgresLog } from '../../../ops/event-log/postgres-log.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { idsIn } from '../../../ops/test/support/archive/harness.js';
import { startEventStoreCluster } from '../../../ops/test/support/eventstore/cluster.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import { eventually, eventuallyPasses, rejection } from '../../../ops/test/support/waiting.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { blocked, created, noon, recordOf } from '../../../schemas/testing/events.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { v7 as uuidv7 } from 'uuid';
import { startArchive, type Archive } from './archive.js';
import { archiveStarted, ownerStream } from './owner.js';
import { openArchiveStore } from './store.js';

const logger = createLogger('silent');
const links = topics.links.name;

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
    for (const event of events) {
      const topic: TopicName = event.subject === 'platform' ? topics.platform.name : links;
      await opened.log.append(topic, [recordOf(event)]);
    }
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

  it('stops after a read without a response', async () => {
    await append(created('a'));
    await isArchived();
    const store = openArchiveStore(double.url);
    await store.read('link-a', 0, 1);
    double.stall();
    expect(await rejection(store.read('link-a', 0, 1))).to.include({ code: 'TIMEOUT' });
    await store.close();
    double.resume();
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
});
