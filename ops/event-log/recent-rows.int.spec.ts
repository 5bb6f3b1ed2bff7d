import { expect } from 'chai';
import type { QueryConfig } from 'pg';
import { topics } from '../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { deferred } from '../platform/concurrency/deferred.js';
import { createLogger } from '../platform/logging.js';
import { listenToPostgres, type NotificationListener } from '../platform/postgres/listener.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { databaseFixture } from '../test/support/fixtures.js';
import { openTestLog } from '../test/support/node.js';
import { seededRandom } from '../test/support/random.js';
import { eventually } from '../test/support/waiting.js';
import { readRows, unpack, type LogRow, type OffsetRange } from './postgres-batches.js';
import { makeSegment } from './postgres-segments.js';
import { RecentRows } from './recent-rows.js';

const logger = createLogger('silent');
const visits = topics.visits.name;
const code = 'abc';

describe('platform: recent rows of the embedded log', () => {
  const database = databaseFixture('recent_rows', { per: 'test' });
  let listener: NotificationListener;
  let recent: RecentRows;
  let partitionId: number;
  /** The numbers of rows that were read from PostgreSQL. */
  let queries: number[];
  let next: number;
  let log: Awaited<ReturnType<typeof openTestLog>>['log'];

  beforeEach(async () => {
    const { pool, url } = database;
    [queries, next] = [[], 0];
    ({ log } = await openTestLog({ pool, url, logger }));
    listener = listenToPostgres(url, ['linklog_log'], logger);
    await eventually('the listener is connected', () => listener.listening);
    const counting = {
      async query(statement: QueryConfig) {
        const result = await pool.query(statement);
        queries.push(result.rows.length);
        return result;
      },
    };
    recent = new RecentRows(counting as Queryable, listener);
    await append(1);
    const { rows } = await pool.query<{ id: number }>(
      'SELECT partition_id AS id FROM log.records LIMIT 1',
    );
    partitionId = rows[0]?.id ?? 0;
  });

  afterEach(async () => {
    recent.close();
    await listener.close();
    await log.close();
  });

  const append = async (count: number): Promise<void> => {
    const events = Array.from({ length: count }, (_, index) =>
      spooledVisit(code, { sequence: next + index + 1 }),
    );
    next += count;
    await log.append(visits, events.map(recordOf));
  };

  const rangeOf = (from: number, to = next): OffsetRange => ({ partitionId, from, to });

  const recordsOf = (rows: ReadonlyMap<number, readonly LogRow[]>, { from, to }: OffsetRange) => {
    const { records, damaged } = unpack(rows.get(partitionId) ?? [], from, to);
    expect(damaged).to.equal(null);
    return records;
  };

  const expectSame = async (range: OffsetRange): Promise<void> => {
    const expected = recordsOf(await readRows(database.pool, [range]), range);
    expect(recordsOf(await recent.read([range]), range)).to.deep.equal(expected);
  };

  it('are read once, and then only the new ones', async () => {
    for (const count of [3, 1, 4]) {
      await append(count);
      for (const from of [0, 1, next - 1]) await expectSame(rangeOf(from));
    }
    // The first records are one row, like each append.
    expect(queries.filter((rows) => rows > 0)).to.deep.equal([2, 1, 1]);
  });

  it('equal those of PostgreSQL for any order of reads, appends and compactions', async () => {
    const random = seededRandom(7);
    const numberUpTo = (end: number): number => random.below(end + 1);
    let compactedTo = 0;
    for (let step = 0; step < 200; step += 1) {
      if (numberUpTo(3) === 0) await append(1 + numberUpTo(4));
      if (numberUpTo(5) === 0) {
        // The rows from the last segment on, which grows.
        const { rows } = await database.pool.query<{ end: number }>(
          `SELECT first_offset + records AS end FROM log.records
           WHERE partition_id = $1 ORDER BY first_offset DESC LIMIT 1 OFFSET $2`,
          [partitionId, numberUpTo(1)],
        );
        const first = numberUpTo(1) === 0 ? 0 : compactedTo;
        const end = rows[0]?.end ?? 0;
        if (end > first) await makeSegment(database.pool, partitionId, { first, next: end });
        compactedTo = Math.max(compactedTo, end);
      }
      const from = numberUpTo(next);
      await expectSame(rangeOf(from, from + numberUpTo(next)));
      await expectSame(rangeOf(Math.max(0, next - numberUpTo(3)), next + 5));
    }
  });

  it('are forgotten when the connection is lost', async () => {
    await expectSame(rangeOf(0));
    const lost = deferred();
    listener.onGap(() => {
      lost.resolve();
    });
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event = 'ClientRead'`,
    );
    await lost.promise;
    queries = [];
    await expectSame(rangeOf(0));
    expect(queries).to.deep.equal([1]);
  });
});
