import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import { topics } from '../../schemas/events/topics.js';
import { quotas } from '../quotas/projection.js';
import { redirects } from '../links/projection.js';
import { stats } from '../statistics/projection.js';
import {
  at,
  blocked,
  created,
  importedVisit,
  recordOf,
  spooledVisit,
  visited,
} from '../../schemas/testing/events.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { feed, namedLog } from '../testing/harness.js';
import { dump, emptyTables } from '../testing/tables.js';
import { createBatchHandler } from './batch.js';
import { BatchNotAtCheckpoint } from './checkpoints.js';
import { redrive } from './redrive.js';
import { liveSchema } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const visits = topics.visits.name;
const schema = 'projection_stats';

const visit = (sequence: number) => recordOf(spooledVisit('abc', { sequence }));

describe('projectors: handler of batches', () => {
  const database = databaseFixture('batches');
  const live = fixture(() => feed(database.pool, stats));

  beforeEach(() => emptyTables(database.pool, schema));

  const content = () => dump(database.pool, schema);

  const clicks = async (): Promise<unknown> => {
    const { rows } = await database.pool.query<{ subject: string; clicks: number }>(
      `SELECT subject, clicks FROM ${schema}.links`,
    );
    return Object.fromEntries(rows.map((row) => [row.subject, row.clicks]));
  };

  it('applies a batch at the checkpoint and moves the checkpoint past it', async () => {
    expect(await live.records(visits, [visit(1), visit(2)])).to.deep.equal({
      ...{ applied: 2, repeats: 0, deadLetters: 0, parked: 0 },
    });
    await live.records(visits, [visit(3)]);
    const { checkpoints } = await content();
    expect(checkpoints).to.deep.equal([`(${visits},0,log-1:${visits},3)`]);
    expect(await clicks()).to.deep.equal({ abc: 3 });
  });

  it('rejects a batch that does not begin at the checkpoint, and changes nothing', async () => {
    const rejects = async (offset?: number, from = live): Promise<void> => {
      const before = await content();
      const error = await rejection(from.records(visits, [visit(3), visit(4)], offset));
      expect(error, `offset ${offset}`).to.be.instanceOf(BatchNotAtCheckpoint);
      expect(error).to.include({ code: 'BATCH_NOT_AT_CHECKPOINT' });
      expect(await content()).to.deep.equal(before);
    };
    await rejects(5);
    await live.records(visits, [visit(1), visit(2)]);
    for (const offset of [0, 1, 3]) await rejects(offset);
    await rejects(undefined, feed(database.pool, stats, namedLog('log-2')));
  });

  it('applies one of two equal concurrent batches, also at offset 0', async () => {
    for (const offset of [0, 1, 2]) {
      const apply = () => live.records(visits, [visit(offset + 1)], offset);
      const twice = await Promise.allSettled([apply(), apply()]);
      expect(twice.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    }
    expect(await clicks()).to.deep.equal({ abc: 3 });
  });

  describe('expires the marks of spools', () => {
    const visitOf = (spool: string, sequence: number, day: number) =>
      recordOf(spooledVisit('abc', { spool, sequence, time: at(day * 86_400) }));
    const marks = async (): Promise<readonly string[]> => {
      const { rows } = await database.pool.query<{ mark: string }>(
        `SELECT concat_ws(' ', origin, sequence, raised_on - date '2026-05-20') AS mark
         FROM ${schema}.high_water_marks ORDER BY 1`,
      );
      return rows.map(({ mark }) => mark.replace('/linklog/spool/', ''));
    };

    it('30 days after their last visit, in event time', async () => {
      await live.records(visits, [visitOf('a', 1, 0), visitOf('b', 1, 0)]);
      await live.records(visits, [visitOf('b', 2, 1), visitOf('c', 1, 30)]);
      expect(await marks()).to.deep.equal(['a 1 0', 'b 2 1', 'c 1 30']);
      await live.records(visits, [visitOf('c', 2, 31)]);
      expect(await marks()).to.deep.equal(['b 2 1', 'c 2 31']);
      await live.records(visits, [visitOf('c', 3, 400)]);
      expect(await marks()).to.deep.equal(['c 3 400']);
    });

    it('keeps the marks of a spool that ships old visits late', async () => {
      await live.records(visits, [visitOf('new', 1, 100), visitOf('late', 1, 0)]);
      expect(await marks()).to.deep.equal(['late 1 100', 'new 1 100']);
      const outcome = await live.records(visits, [visitOf('late', 1, 0), visitOf('late', 2, 0)]);
      expect(outcome).to.include({ applied: 1, repeats: 1 });
    });

    it('but keeps the mark of an import, however old its visits are', async () => {
      const importedAt = (sequence: number, day: number) =>
        recordOf(importedVisit('abc', { sequence, time: at(day * 86_400) }));
      await live.records(visits, [importedAt(3, -2_000), importedAt(5, -900)]);
      await live.records(visits, [visitOf('a', 1, 1)]);
      const outcome = await live.records(visits, [
        ...[importedAt(3, -2_000), importedAt(5, -900), importedAt(8, -10)],
        visitOf('a', 2, 2),
      ]);
      expect(outcome).to.include({ applied: 2, repeats: 2 });
    });

    it('but not by visits of an import that are in the future', async () => {
      await live.records(visits, [visitOf('a', 1, 0)]);
      const future = importedVisit('abc', { sequence: 1, time: at(4_000 * 86_400) });
      await live.records(visits, [recordOf(future)]);
      const outcome = await live.records(visits, [visitOf('a', 1, 0), visitOf('a', 2, 0)]);
      expect(outcome).to.include({ applied: 1, repeats: 1 });
    });

    it('but keeps the marks of links with a limit, which the ledger numbers', async () => {
      await live.records(visits, [recordOf(visited('abc', 1)), visitOf('a', 1, 400)]);
      expect(await marks()).to.deep.equal(['a 1 400', 'abc 1']);
    });
  });

  it('stores no marks of the ledger’s events if the log does not repeat them', async () => {
    const once = namedLog('log-1', false);
    const limited = recordOf(visited('abc', 1));
    const counting = feed(database.pool, stats, once);
    await counting.records(visits, [limited, visit(1), visit(1)]);
    expect(await counting.records(visits, [visit(1), visit(2)])).to.include({ repeats: 1 });
    const { high_water_marks: ofSpools } = await content();
    expect(ofSpools).to.deep.equal([`(${visits},0,/linklog/spool/spool-1,2,2026-05-20)`]);
    for (const projection of [redirects, quotas]) {
      const schema = liveSchema(projection.name);
      await emptyTables(database.pool, schema);
      // The second cannot be applied: it is set aside.
      const broken = { key: 'a', value: 'no event' };
      const [creation, next] = [created('a', { keyId: 'key-1' }), blocked('a', 2)].map(recordOf);
      const batch = [creation, broken, next].filter((record) => record !== undefined);
      await feed(database.pool, projection, once).records(topics.links.name, batch);
      const tables = await dump(database.pool, schema);
      expect(tables['high_water_marks'], schema).to.deep.equal([]);
      expect(tables['dead_letters'], schema).to.have.length(2);
      await redrive({ pool: database.pool, log: once, projection });
      expect((await dump(database.pool, schema))['high_water_marks'], schema).to.deep.equal([]);
    }
  });

  const raise = (code: string): string => `DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$`;
  // Errors of PostgreSQL that no event causes.
  for (const [what, statement] of [
    ['a deadlock', raise('40P01')],
    ['a serialization failure', raise('40001')],
    ['a full disk', raise('53100')],
    ['a read-only session', raise('25006')],
    ['a shutdown', raise('57P01')],
    ['a lost connection', 'SELECT pg_terminate_backend(pg_backend_pid())'],
    ['an unknown table', 'SELECT * FROM nowhere'],
  ] as const) {
    it(`sets no event aside after ${what}: the whole batch fails`, async () => {
      let failing = true;
      const unlucky: typeof stats = {
        ...stats,
        async apply(tx, into, events, partition) {
          await stats.apply(tx, into, events, partition);
          if (failing) await tx.query(statement);
        },
      };
      const unluckyFeed = feed(database.pool, unlucky);
      const before = await content();
      expect(await rejection(unluckyFeed.records(visits, [visit(1)]))).to.be.instanceOf(Error);
      expect(await content()).to.deep.equal(before);
      failing = false;
      expect(await unluckyFeed.records(visits, [visit(1)])).to.include({ applied: 1 });
    });
  }

  it('applies the batches of several partitions, with a checkpoint and marks for each', async () => {
    const log = namedLog();
    const deps = { projection: stats, log, pool: database.pool, logger: createLogger('silent') };
    const handle = createBatchHandler(deps);
    for (const [partition, first, ...sequences] of [
      [0, 0, 1, 2],
      [1, 0, 4, 5],
      [0, 2, 2, 3, 4],
      [1, 2, 3, 5, 6],
    ] as const) {
      const records = sequences.map((sequence, index) => ({
        ...recordOf(spooledVisit('a', { sequence, spool: 'one' })),
        offset: first + index,
      }));
      await handle({ topic: visits, partition, records });
    }
    expect(await clicks()).to.deep.equal({ a: 7 });
    const { checkpoints, high_water_marks: marks } = await content();
    const spool = '/linklog/spool/one';
    expect([checkpoints, marks]).to.deep.equal([
      [`(${visits},0,log-1:${visits},5)`, `(${visits},1,log-1:${visits},5)`],
      [`(${visits},0,${spool},4,2026-05-20)`, `(${visits},1,${spool},6,2026-05-20)`],
    ]);
    const { rows } = await database.pool.query(
      `SELECT partition, clicks FROM ${schema}.accounts ORDER BY partition`,
    );
    expect(rows).to.deep.equal([
      { partition: 0, clicks: 4 },
      { partition: 1, clicks: 3 },
    ]);
  });
});
