import { expect } from 'chai';
import { archiver, idsIn } from '../../../ops/test/support/archive/harness.js';
import {
  startEventStoreDouble,
  type EventStoreDouble,
} from '../../../ops/test/support/eventstore/double.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';
import { rejection } from '../../../ops/test/support/waiting.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { emptyTables } from '../../testing/tables.js';
import { archiveIdOf } from './archiver.js';
import {
  ArchiveUnavailable,
  openArchiveStore,
  type ArchiveStore,
  type StreamMetadata,
} from './store.js';

const visits = topics.visits.name;
const stream = 'visits-abc';

describe('archive: removed events', () => {
  const database = databaseFixture('removed');
  let double: EventStoreDouble;
  let store: ArchiveStore;
  const events = [1, 2, 3, 4, 5, 6].map((sequence) => spooledVisit('abc', { sequence }));
  const records = events.map(recordOf);
  const ids = events.map(archiveIdOf);

  beforeEach(async () => {
    await emptyTables(database.pool, 'archive');
    double = await startEventStoreDouble({ commitTimeoutMs: 50 });
    store = openArchiveStore(double.url);
  });

  afterEach(async () => {
    await store.close();
    double.kill();
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
      expect(idsIn(double.streams, stream)).to.deep.equal(ids);
      expect(await state()).to.deep.equal({ removed: 0, deadLetters: 0 });
    });

    for (const isScavenged of [false, true]) {
      for (const length of [1, 2, 4, 6]) {
        const how = `${title}${isScavenged ? ', scavenged' : ''}, batches of ${length}`;
        it(`are not written again by a rebuild: ${how}`, async () => {
          await archiver(database.pool, store)(visits, 0, records.slice(0, 4));
          remove(retention);
          if (isScavenged) double.streams.scavenge();
          const before = idsIn(double.streams, stream);
          await emptyTables(database.pool, 'archive');
          const archive = archiver(database.pool, store, 6);
          for (let from = 0; from < 6; from += length) {
            await archive(visits, from, records.slice(from, from + length));
          }
          expect(idsIn(double.streams, stream)).to.deep.equal([...before, ...ids.slice(4)]);
          expect(double.streams.events(stream)?.at(-1)?.revision).to.equal(5);
          expect(await state()).to.deep.equal({ removed, deadLetters: 0 });
        });
      }
    }
  }

  it('of a tombstoned stream are counted, as are later ones', async () => {
    await archiver(database.pool, store)(visits, 0, records.slice(0, 2));
    double.streams.tombstone(stream);
    const other = spooledVisit('other', { sequence: 7 });
    await archiver(database.pool, store)(visits, 2, [...records.slice(2), recordOf(other)]);
    expect(idsIn(double.streams, 'visits-other')).to.deep.equal([archiveIdOf(other)]);
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
        expect(idsIn(double.streams, stream)).to.deep.equal(ids);
        expect(await state()).to.deep.equal({ removed: 0, deadLetters: 0 });
      });
    }
  }
});
