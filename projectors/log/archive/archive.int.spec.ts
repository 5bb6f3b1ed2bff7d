import { v7 as uuidv7 } from 'uuid';
import { expect } from 'chai';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { startTcpProxy } from '../../../ops/test/support/tcp-proxy.js';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { topics } from '../../../schemas/events/topics.js';
import { BatchNotAtCheckpoint } from '../../runtime/checkpoints.js';
import {
  blocked,
  created,
  deleted,
  described,
  disabled,
  domainClaimed,
  domainReleased,
  domainVerified,
  edited,
  enabled,
  keyChanged,
  keyCreated,
  keyHash,
  keyRevoked,
  keyRotated,
  metered,
  noon,
  recordOf,
  spooledVisit,
  unblocked,
} from '../../../schemas/testing/events.js';
import { eventually, rejection } from '../../../ops/test/support/waiting.js';
import { emptyTables } from '../../testing/tables.js';
import {
  ArchiveUnavailable,
  openArchiveStore,
  type ArchiveStore,
  type StreamMetadata,
} from './store.js';
import { archiveIdOf } from './archiver.js';
import { archiver, idsIn } from '../../../ops/test/support/archive/harness.js';
import { archiveUnderKills } from '../../../ops/test/support/archive/kills.js';
import { deferred } from '../../../ops/platform/concurrency/deferred.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const links = topics.links.name;
const visits = topics.visits.name;
const accounts = topics.accounts.name;

const idsOf = (events: readonly LinklogEvent[]): readonly string[] => events.map(archiveIdOf);

describe('archive: archive', () => {
  const database = databaseFixture('archive');
  let double: EventStoreDouble;
  let stores: ArchiveStore[];

  beforeEach(async () => {
    stores = [];
    await emptyTables(database.pool, 'archive');
    double = await startEventStoreDouble({ commitTimeoutMs: 50 });
  });

  afterEach(async () => {
    for (const store of stores) await store.close();
    double.kill();
  });

  const open = (url = double.url): ArchiveStore => {
    const store = openArchiveStore(url);
    stores.push(store);
    return store;
  };

  const newArchiver = () => archiver(database.pool, open());

  const ids = (stream: string): readonly string[] => idsIn(double.streams, stream);

  const readDeadLetters = async () => {
    const { rows } = await database.pool.query<{
      at: number;
      subject: string;
      error: string | null;
    }>(`SELECT record_offset AS at, subject, error FROM archive.dead_letters ORDER BY 1`);
    return rows.map(({ at, subject, error }) => [at, subject, error] as const);
  };

  const visitsOf = (count: number, code = 'abc') =>
    Array.from({ length: count }, (_, index) => spooledVisit(code, { sequence: index + 1 }));
  const dataOf = (stream: string): unknown => {
    const [stored] = double.streams.events(stream) ?? [];
    return JSON.parse(Buffer.from(stored?.data ?? '', 'base64').toString());
  };

  describe('given events of every kind', () => {
    it('has one stream for each link, its visits, each key, its usage, each alias, each domain, and the platform', async () => {
      const archive = newArchiver();
      const metadataOf = (subject: string, sequence = 1) => ({
        ...{ id: uuidv7(), subject, sequence, time: noon },
      });
      const events = {
        'link-a-b': [
          ...[created('a-b'), blocked('a-b', 2), unblocked('a-b', 3)],
          ...[edited('a-b', 4, { password: 'removed' }), described('a-b', 5, { note: 'n' })],
          ...[disabled('a-b', 6), enabled('a-b', 7), deleted('a-b', 8)],
        ],
        'link-go.a-b.example/x': [created('go.a-b.example/x'), blocked('go.a-b.example/x', 2)],
        'visits-go.a-b.example/x': [spooledVisit('go.a-b.example/x', { sequence: 3 })],
        'visits-a-b': [spooledVisit('a-b'), spooledVisit('a-b', { sequence: 2 })],
        'key-k1': [
          keyCreated('k1', {}, metadataOf('k1')),
          keyChanged('k1', 2, { scopes: ['qr:read'] }),
          keyRotated('k1', 3, { hash: keyHash, earlierEndAt: noon.toISOString() }),
          keyRevoked('k1', 4),
        ],
        'alias-k1': [newEvent('AliasOverrideGranted', { account: 'default' }, metadataOf('k1', 5))],
        'domain-go.a-b.example': [
          domainClaimed('go.a-b.example', 1, 'token'),
          domainVerified('go.a-b.example', 2),
          domainReleased('go.a-b.example', 3),
        ],
        'usage-k1': [metered('k1', 1, 7)],
        platform: [newEvent('MaintenanceSwitched', { on: true }, metadataOf('platform'))],
      };
      const recordsOf = (...streams: readonly (keyof typeof events)[]) =>
        streams.flatMap((stream): readonly LinklogEvent[] => events[stream]).map(recordOf);
      await archive(links, 0, recordsOf('link-a-b', 'link-go.a-b.example/x'));
      await archive(visits, 0, recordsOf('visits-a-b', 'visits-go.a-b.example/x'));
      await archive(accounts, 0, recordsOf('key-k1', 'alias-k1', 'domain-go.a-b.example'));
      await archive(topics.usage.name, 0, events['usage-k1'].map(recordOf));
      await archive(topics.platform.name, 0, events.platform.map(recordOf));
      expect(double.streams.names()).to.have.members(Object.keys(events));
      for (const [stream, expected] of Object.entries(events)) {
        expect(ids(stream), stream).to.deep.equal(idsOf(expected));
      }
    });

    it('stores the data without secrets, and attributes as metadata', async () => {
      const event = newEvent(
        'LinkCreated',
        { ...created('abc').data, passwordHash: '$argon2id$secret' },
        {
          ...{ id: uuidv7(), subject: 'abc', sequence: 1, time: noon },
          ...{ account: 'acme', actor: 'key-1', correlationId: 'request-1' },
        },
      );
      await newArchiver()(links, 0, [recordOf(event)]);
      const [stored] = double.streams.events('link-abc') ?? [];
      expect(stored).to.include({ id: event.id, type: 'linklog.LinkCreated.v4' });
      const { url, custom, expiresAt, maxClicks, keyId } = event.data;
      expect(dataOf('link-abc')).to.deep.equal({ url, custom, expiresAt, maxClicks, keyId });
      const metadata = Buffer.from(stored?.metadata ?? '', 'base64').toString();
      expect(JSON.parse(metadata)).to.deep.equal({
        ...{ specversion: '1.0', source: '/linklog/ledger', subject: 'abc' },
        ...{ time: noon.toISOString(), datacontenttype: 'application/json' },
        ...{ sequence: '0000000000000001', account: 'acme', actor: 'key-1' },
        ...{ correlationid: 'request-1', $correlationId: 'request-1' },
      });
    });

    it('appends the events of a stream in one call, with a deadline for each call', async () => {
      const events = Array.from({ length: 300 }, (_, index) =>
        spooledVisit(`code-${index % 3}`, { sequence: index + 1 }),
      );
      await newArchiver()(visits, 0, events.map(recordOf));
      expect(double.calls).to.deep.equal({ read: 0, append: 3, gossip: 0 });
      for (const code of ['code-0', 'code-1', 'code-2']) {
        const expected = events.filter(({ subject }) => subject === code);
        expect(ids(`visits-${code}`)).to.deep.equal(idsOf(expected));
      }
    });

    it('derives the UUID of a spooled visit from its spool and sequence', async () => {
      const spooled = [1, 2].map((n) => spooledVisit('abc', { spool: `spool-${n}`, sequence: 7 }));
      await newArchiver()(visits, 0, spooled.map(recordOf));
      expect(ids('visits-abc')).to.deep.equal([
        '1706d2e2-0f93-5d3c-9826-f95f4c645f4f',
        'b22cff1e-8c16-5cf0-8f60-a6044e8a04c5',
      ]);
    });

    it('splits an append that is larger than the limit of the server', async () => {
      double.kill();
      double = await startEventStoreDouble({ maxAppendSize: 10_000 });
      const events = visitsOf(200, 'hot');
      await newArchiver()(visits, 0, events.map(recordOf));
      expect(ids('visits-hot')).to.deep.equal(idsOf(events));
      expect(double.calls.append).to.be.greaterThan(4);
    });

    it('drops repeats, in one batch and in the next', async () => {
      const archive = newArchiver();
      const events = visitsOf(3);
      await archive(visits, 0, [...events.slice(0, 2), ...events.slice(0, 1)].map(recordOf));
      await archive(visits, 3, [...events.slice(1), ...events.slice(0, 1)].map(recordOf));
      expect(ids('visits-abc')).to.deep.equal(idsOf(events));
    });
  });

  describe('given events that are already in a stream', () => {
    const events = visitsOf(6);
    const records = events.map(recordOf);

    /** Fails after each append, before the checkpoint moves. */
    const dying = (store: ArchiveStore): ArchiveStore => ({
      ...store,
      async append(...args) {
        await store.append(...args);
        throw new ArchiveUnavailable('UNAVAILABLE', null);
      },
    });

    for (const [first, second] of [
      [3, 3],
      [3, 6],
      [6, 3],
    ] as const) {
      it(`stores each event once after a crash before the checkpoint: ${first} events, then ${second}`, async () => {
        const crashed = archiver(database.pool, dying(open()))(visits, 0, records.slice(0, first));
        expect(await rejection(crashed)).to.be.instanceOf(ArchiveUnavailable);
        expect(ids('visits-abc')).to.have.length(first);
        const archive = newArchiver();
        await archive(visits, 0, records.slice(0, second));
        if (second < 6) await archive(visits, second, records.slice(second));
        expect(ids('visits-abc')).to.deep.equal(idsOf(events));
      });
    }

    it('stores each event once when a response is lost with its connection', async () => {
      const proxy = await startTcpProxy(`tcp://127.0.0.1:${double.port}`);
      const archive = archiver(
        database.pool,
        open(`esdb://127.0.0.1:${new URL(proxy.url).port}?tls=false`),
      );
      await archive(visits, 0, records.slice(0, 2));
      proxy.mute();
      const lost = rejection(archive(visits, 2, records.slice(2, 4)));
      await eventually('four events are archived', () => ids('visits-abc').length === 4);
      proxy.cut();
      expect(await lost).to.be.instanceOf(ArchiveUnavailable);
      await archive(visits, 2, records.slice(2));
      expect(ids('visits-abc')).to.deep.equal(idsOf(events));
      await proxy.close();
    });

    it('repeats an append once that the server dropped, because another archiver had sent it', async () => {
      double.kill();
      double = await startEventStoreDouble({ commitTimeoutMs: 500 });
      double.streams.hasQuorum = false;
      const first = newArchiver()(visits, 0, records);
      await eventually('the first append arrives', () => double.calls.append === 1);
      const second = rejection(newArchiver()(visits, 0, records));
      await eventually('its repeat arrives', () => double.calls.append === 2);
      double.streams.commit();
      double.streams.hasQuorum = true;
      await first;
      expect(await second).to.be.instanceOf(BatchNotAtCheckpoint);
      expect(double.calls.append).to.equal(3);
      expect(ids('visits-abc')).to.deep.equal(idsOf(events));
    });

    it('stores each event once when an overtaken archiver continues', async () => {
      const store = open();
      const [arrived, gate] = [deferred(), deferred()];
      const slow = archiver(database.pool, {
        ...store,
        async append(...args) {
          arrived.resolve();
          await gate.promise;
          return store.append(...args);
        },
      });
      const late = rejection(slow(visits, 0, records.slice(0, 4)));
      await arrived.promise;
      const archive = archiver(database.pool, store);
      // The bounds of batches depend on the records that the log has.
      await archive(visits, 0, records.slice(0, 3));
      await archive(visits, 3, records.slice(3));
      gate.resolve();
      expect(await late).to.be.instanceOf(BatchNotAtCheckpoint);
      expect(ids('visits-abc')).to.deep.equal(idsOf(events));
    });
  });

  describe('given events that the server rejects', () => {
    it('sets broken records aside, parks later events of their subjects, and archives the rest', async () => {
      const foreign = { key: 'bad', value: '{}' };
      const [good, late] = [created('good'), created('bad')];
      await newArchiver()(links, 0, [foreign, recordOf(late), recordOf(good)]);
      expect(ids('link-good')).to.deep.equal([good.id]);
      expect(ids('link-bad')).to.deep.equal([]);
      const [first, second] = await readDeadLetters();
      expect(first?.[2]).to.match(/^The record holds no event that can be read/);
      expect(second).to.deep.equal([1, 'bad', null]);
    });

    for (const [limit, messageOf] of [
      [{ maxAppendSize: 3_000 }, () => 'Maximum Append Size of 3000 Exceeded.'],
      [
        { maxAppendEventSize: 3_000 },
        (id: string) => `Event with Id: ${id} exceeds Maximum Append Event Size of 3000.`,
      ],
    ] as const) {
      it(`sets aside an event that is too large, and archives the others: ${Object.keys(limit).join()}`, async () => {
        double.kill();
        double = await startEventStoreDouble(limit);
        const url = `https://example.com/${'x'.repeat(3_000)}`;
        const large = created('bad', { url }, { sequence: 2 });
        const events = [created('bad'), large, blocked('bad', 3), created('good')];
        const archive = newArchiver();
        await archive(links, 0, events.map(recordOf));
        await archive(links, 4, [recordOf(unblocked('bad', 4))]);
        expect(ids('link-bad')).to.deep.equal(idsOf(events.slice(0, 1)));
        expect(ids('link-good')).to.have.length(1);
        expect(await readDeadLetters()).to.deep.equal([
          [1, 'bad', `3 INVALID_ARGUMENT: ${messageOf(large.id)}`],
          [2, 'bad', null],
          [4, 'bad', null],
        ]);
      });
    }
  });

  describe('given events that the server removed', () => {
    const stream = 'visits-abc';
    const events = visitsOf(6);
    const records = events.map(recordOf);
    const eventIds = idsOf(events);
    let store: ArchiveStore;

    beforeEach(() => {
      store = open();
    });

    const state = async () => {
      const { rows } = await database.pool.query<{ removed: number; deadLetters: number }>(
        `SELECT coalesce(sum(removed), 0)::bigint AS removed,
                (SELECT count(*) FROM archive.dead_letters) AS "deadLetters" FROM archive.streams`,
      );
      return rows[0];
    };

    /** Retention, or a soft deletion. */
    const remove = (retention: StreamMetadata | null): void => {
      if (retention) double.streams.retain(stream, retention);
      else double.streams.softDelete(stream);
      double.streams.elapse(61);
    };

    for (const [title, removed, retention] of [
      ['$maxCount 2', 2, { $maxCount: 2 }],
      ['an expired $maxAge', 4, { $maxAge: 60 }],
      ['$tb 3', 3, { $tb: 3 }],
      ['a soft deletion', 4, null],
    ] as const) {
      it(`does not matter for later events: ${title}`, async () => {
        const archive = archiver(database.pool, store);
        await archive(visits, 0, records.slice(0, 4));
        remove(retention);
        await archive(visits, 4, records.slice(4));
        expect(ids(stream)).to.deep.equal(eventIds);
        expect(await state()).to.deep.equal({ removed: 0, deadLetters: 0 });
      });

      for (const isScavenged of [false, true]) {
        for (const length of [1, 2, 4, 6]) {
          const how = `${title}${isScavenged ? ', scavenged' : ''}, batches of ${length}`;
          it(`are not written again by a rebuild: ${how}`, async () => {
            await archiver(database.pool, store)(visits, 0, records.slice(0, 4));
            remove(retention);
            if (isScavenged) double.streams.scavenge();
            const before = ids(stream);
            await emptyTables(database.pool, 'archive');
            const archive = archiver(database.pool, store, 6);
            for (let from = 0; from < 6; from += length) {
              await archive(visits, from, records.slice(from, from + length));
            }
            expect(ids(stream)).to.deep.equal([...before, ...eventIds.slice(4)]);
            expect(double.streams.events(stream)?.at(-1)?.revision).to.equal(5);
            expect(await state()).to.deep.equal({ removed, deadLetters: 0 });
          });
        }
      }
    }

    it('counts those of a tombstoned stream and later ones', async () => {
      await archiver(database.pool, store)(visits, 0, records.slice(0, 2));
      double.streams.tombstone(stream);
      const other = spooledVisit('other', { sequence: 7 });
      await archiver(database.pool, store)(visits, 2, [...records.slice(2), recordOf(other)]);
      expect(ids('visits-other')).to.deep.equal([archiveIdOf(other)]);
      expect(await state()).to.deep.equal({ removed: 4, deadLetters: 0 });
    });

    for (const retention of [{}, { $maxAge: 60 }, { $maxCount: 10 }]) {
      for (const outcome of ['commit', 'rollback'] as const) {
        const title = `${JSON.stringify(retention)}, ${outcome}`;
        it(`do not include events that are not committed, which are no cut: ${title}`, async () => {
          const archive = archiver(database.pool, store);
          await archive(visits, 0, records.slice(0, 2));
          double.streams.retain(stream, retention);
          double.streams.hasQuorum = false;
          for (const end of [3, 6, 6]) {
            const error = await rejection(archive(visits, 2, records.slice(2, end)));
            expect(error).to.be.instanceOf(ArchiveUnavailable);
            expect(error).to.include({ code: 'TIMEOUT' });
          }
          double.streams[outcome]();
          double.streams.hasQuorum = true;
          await archive(visits, 2, records.slice(2));
          expect(ids(stream)).to.deep.equal(eventIds);
          expect(await state()).to.deep.equal({ removed: 0, deadLetters: 0 });
        });
      }
    }
  });

  it('stores each event once, in order, while EventStoreDB is killed repeatedly', async () => {
    const report = await archiveUnderKills({ events: 2_000, faults: ['kill', 'kill', 'kill'] });
    expect(report).to.deep.include({ wrong: [], archived: 2_000, started: 1, deadLetters: 0 });
  });
});
