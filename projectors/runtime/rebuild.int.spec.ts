import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { hasCode } from '../../ops/platform/errors.js';
import { createLogger } from '../../ops/platform/logging.js';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { ForeignPosition, type EventLog, type Subscription } from '../../ops/event-log/port.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import { topicNames } from '../../schemas/events/topics.js';
import { projections } from '../projections.js';
import { redirects } from '../links/projection.js';
import { stats } from '../statistics/projection.js';
import {
  at,
  blocked,
  created,
  metered,
  recordOf,
  spooledVisit,
} from '../../schemas/testing/events.js';
import { eventually, rejection } from '../../ops/test/support/waiting.js';
import { describeSchema, dump } from '../testing/tables.js';
import { shareSchema } from './checkpoints.js';
import { NoPreviousProjection } from './previous.js';
import { liveSchema, type Projection } from './projection.js';
import {
  cloneSchema,
  dropOldPrevious,
  projectionsBeingRebuilt,
  rebuild,
  RebuildRunning,
  rollBack,
  swapIn,
  withRebuildLock,
  type RebuildOptions,
} from './rebuild.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { startProjection } from './batch.js';
import { readerLag } from './lag.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');
const count = <Item>(length: number, item: (index: number) => Item): readonly Item[] =>
  Array.from({ length }, (_, index) => item(index));

describe('projectors: rebuild', () => {
  const database = databaseFixture('rebuild', { per: 'test' });
  let log: EventLog;
  let running: Subscription[];

  beforeEach(async () => {
    running = [];
    const { pool, url } = database;
    ({ log } = await openTestLog({ pool, url, logger }));
  });

  afterEach(async () => {
    // Those of a failed test would run forever.
    for (const subscription of running) await subscription.stop();
    await log.close();
  });

  const append = async (events: readonly LinklogEvent[]): Promise<void> => {
    for (const topic of topicNames)
      await log.append(topic, events.filter((event) => topicOf(event) === topic).map(recordOf));
  };

  const history = (): readonly LinklogEvent[] => [
    ...count(100, (index) => created(`code-${index}`, { keyId: `key-${index % 3}` })),
    ...count(30, (index) => blocked(`code-${index * 3}`, 2)),
    // An event that cannot be applied, and two parked events.
    created('poison', { maxClicks: 3_000_000_000 }),
    ...[blocked('poison', 2), blocked('poison', 3)],
    ...count(400, (index) =>
      spooledVisit(`code-${(index * 7) % 100}`, { sequence: index + 1, time: at(index) }),
    ),
    ...count(20, (index) => metered(`key-${index % 3}`, 1 + index, index + 1)),
  ];

  const rebuildNow = (projection: Projection, options: Partial<RebuildOptions> = {}) =>
    rebuild({ pool: database.pool, log, logger, projection, ...options });
  const rollBackNow = (options: Partial<RebuildOptions> = {}) =>
    rollBack({ pool: database.pool, log, logger, projection: stats, ...options });

  const start = (projection: Projection): Subscription => {
    const subscription = startProjection({ pool: database.pool, log, logger, projection });
    running.push(subscription);
    return subscription;
  };

  const caughtUp = ({ name, topics }: Projection): Promise<void> =>
    eventually('the projection is caught up', async () => {
      return (await readerLag(database.pool, log, liveSchema(name), topics)).lag === 0;
    });

  /** Runs the live projection until it has applied the whole log. */
  const catchUpLive = async (projection: Projection): Promise<void> => {
    const live = start(projection);
    await caughtUp(projection);
    await live.stop();
  };

  const appendAndProject = async (): Promise<void> => {
    await append(history());
    await catchUpLive(stats);
  };

  const content = (suffix = ''): Promise<unknown> =>
    dump(database.pool, `projection_stats${suffix}` as 'projection_stats');

  const query = async (text: string, ...values: readonly unknown[]): Promise<readonly unknown[]> =>
    (await database.pool.query<Record<string, unknown>>(text, [...values])).rows;

  const exists = async (schema: string): Promise<boolean> =>
    (await query('SELECT FROM pg_namespace WHERE nspname = $1', schema)).length === 1;

  const waitsForSwap = (): Promise<void> =>
    eventually('the rebuild waits for its swap', async () => {
      const waiting = await query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return waiting.length === 1;
    });

  /** Statistics whose batches wait for `release` before their COMMIT. */
  const slowStats = () => {
    const [begun, released] = [deferred(), deferred()];
    const slow: typeof stats = {
      ...stats,
      async apply(tx, schema, events, partition) {
        await stats.apply(tx, schema, events, partition);
        begun.resolve();
        await released.promise;
      },
    };
    return { slow, begun: begun.promise, release: released.resolve };
  };

  /** Appends events repeatedly during the work. @returns the number of calls of `write` */
  const whileWriting = async (
    write: (call: number) => readonly LinklogEvent[],
    work: () => Promise<void>,
  ): Promise<number> => {
    let [calls, isWorking] = [0, true];
    const writeAll = async (): Promise<void> => {
      while (isWorking) {
        await append(write(calls));
        calls += 1;
        await sleep(5);
      }
    };
    const writing = writeAll();
    await work().finally(() => (isWorking = false));
    await writing;
    return calls;
  };

  for (const projection of projections) {
    it(`of ${projection.name} creates the rows of the live projection`, async () => {
      const { pool } = database;
      const schema = liveSchema(projection.name);
      await append(history());
      await catchUpLive(projection);
      const [rows, shape] = [await dump(pool, schema), await describeSchema(pool, schema)];
      await rebuildNow(projection);
      await rebuildNow(projection);
      expect(await dump(pool, schema)).to.deep.equal(rows);
      expect(await describeSchema(pool, schema)).to.deep.equal(shape);
      expect(await dump(pool, `${schema}_previous`)).to.deep.equal(rows);
      expect(await exists(`${schema}_next`)).to.be.false;
    });
  }

  it('reports its progress and outcomes, also after transient failures', async () => {
    await append(history());
    let failures = 3;
    const unlucky: typeof redirects = {
      ...redirects,
      async apply(tx, schema, events, partition) {
        await redirects.apply(tx, schema, events, partition);
        if (failures-- > 0) await tx.query(`DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$`);
      },
    };
    const reported: (readonly [number, number])[] = [];
    const progress = (done: number, total: number) => reported.push([done, total]);
    const outcome = await rebuildNow(unlucky, { progress });
    expect(outcome).to.deep.equal({ applied: 130, repeats: 0, deadLetters: 1, parked: 2 });
    expect([reported[0], reported.at(-1)]).to.deep.equal([
      [0, 133],
      [133, 133],
    ]);
    expect(failures).to.be.below(0);
  });

  it('that fails changes no live tables, and keeps no lock', async () => {
    await appendAndProject();
    const before = await content();
    const failing: typeof stats = {
      ...stats,
      async apply(tx) {
        await tx.query('SELECT * FROM nowhere');
      },
    };
    expect(await rejection(rebuildNow(failing))).to.include({ code: '42P01' });
    expect(await content()).to.deep.equal(before);
    // It also drops the tables that the failed one has left.
    await query('CREATE TABLE projection_stats_next.leftover ()');
    await rebuildNow(stats);
    expect(await content()).to.deep.equal(before);
  });

  it('that the signal ends, while building or while waiting for the swap, leaves nothing behind', async () => {
    await appendAndProject();
    const before = await content();
    const endedWhen = async (ended: (end: () => void) => Promise<void>, projection = stats) => {
      const [controller, reason] = [new AbortController(), new Error('enough')];
      const rejected = rejection(rebuildNow(projection, { signal: controller.signal }));
      await ended(() => {
        controller.abort(reason);
      });
      expect(await rejected).to.equal(reason);
      expect(await content()).to.deep.equal(before);
      expect(await exists('projection_stats_next')).to.be.false;
    };
    const { slow, begun, release } = slowStats();
    await endedWhen(async (end) => {
      await begun;
      end();
      release();
    }, slow);

    // A live batch that does not end.
    const live = await database.pool.connect();
    await live.query('BEGIN');
    await live.query(shareSchema('stats'));
    await endedWhen(async (end) => {
      await waitsForSwap();
      end();
      await live.query('COMMIT');
    });
    live.release();
    await rebuildNow(stats);
    expect(await content()).to.deep.equal(before);
  });

  it('is refused while the same projection is rebuilt, not while another one is', async () => {
    await append(history());
    const { slow, begun, release } = slowStats();
    const first = rebuildNow(slow);
    await begun;
    const error = await rejection(rebuildNow(stats));
    expect(error).to.be.instanceOf(RebuildRunning).and.to.include({ code: 'REBUILD_RUNNING' });
    await rebuildNow(redirects);
    release();
    await first;
    await rebuildNow(stats);
  });

  it('is refused when the live tables are of another log, or past the end of the log', async () => {
    await appendAndProject();
    for (const damage of [`log_id = 'another'`, 'next_offset = 1000000']) {
      await query('CREATE TABLE saved AS TABLE projection_stats.checkpoints');
      await query(`UPDATE projection_stats.checkpoints SET ${damage}`);
      expect(await rejection(rebuildNow(stats)), damage).to.be.instanceOf(ForeignPosition);
      await query('DELETE FROM projection_stats.checkpoints');
      await query('INSERT INTO projection_stats.checkpoints TABLE saved');
      await query('DROP TABLE saved');
    }
    await rebuildNow(stats);
  });

  it('is not swapped in if it is of another log, or behind the live tables', async () => {
    await appendAndProject();
    const before = await content();
    const client = await database.pool.connect();
    for (const damage of [`log_id = 'another'`, 'next_offset = next_offset - 1']) {
      await cloneSchema(client, 'projection_stats', 'projection_stats_next');
      await client.query(`
        INSERT INTO projection_stats_next.checkpoints SELECT * FROM projection_stats.checkpoints;
        UPDATE projection_stats_next.checkpoints SET ${damage} WHERE partition = 3`);
      const swap = swapIn(client, 'stats', 'projection_stats_next', () => Promise.resolve());
      expect(await rejection(swap)).to.match(/projection_stats_next is not at offset/);
      expect(await content()).to.deep.equal(before);
    }
    client.release();
  });

  it('loses and doubles nothing while the live projector runs and a writer appends', async () => {
    const live = projections.map(start);
    const size = 20;
    const calls = await whileWriting(
      (call) => [
        ...count(size, (index) => call * size + index + 1).flatMap((sequence) => [
          created(`code-${sequence}`, { keyId: `key-${sequence % 3}` }),
          blocked(`code-${sequence}`, 2),
          spooledVisit(`code-${sequence % 10}`, { sequence }),
        ]),
        metered('key-1', call + 1, 2),
      ],
      async () => {
        for (let round = 0; round < 2; round += 1)
          for (const projection of projections) await rebuildNow(projection);
      },
    );
    for (const projection of projections) await caughtUp(projection);
    await Promise.all(live.map((subscription) => subscription.stop()));

    const links = calls * size;
    expect(
      await query(
        `SELECT (SELECT sum(clicks)::bigint FROM projection_stats.links) AS clicks,
           (SELECT count(*) FROM projection_stats.links) AS visited,
           (SELECT sum(links)::bigint FROM projection_quotas.months) AS counted,
           (SELECT sum(calls)::bigint FROM projection_quotas.months) AS calls,
           (SELECT count(*) FROM projection_redirects.links WHERE status = 'blocked') AS blocked`,
      ),
    ).to.deep.equal([
      { clicks: links, visited: 10, counted: links, calls: 2 * calls, blocked: links },
    ]);
    for (const projection of projections) {
      const schema = liveSchema(projection.name);
      const rows = await dump(database.pool, schema);
      await rebuildNow(projection);
      expect(await dump(database.pool, schema)).to.deep.equal(rows);
    }
  }).timeout(60_000);

  it('swaps after the live batch in flight, which is applied once', async () => {
    await append(history());
    const { slow, begun, release } = slowStats();
    const live = start(slow);
    await begun;
    const rebuilding = rebuildNow(stats);
    await waitsForSwap();
    release();
    await rebuilding;
    await caughtUp(stats);
    await live.stop();
    const clicks = await query('SELECT sum(clicks)::bigint AS total FROM projection_stats.links');
    expect(clicks).to.deep.equal([{ total: 400 }]);
  });

  describe('keeps the privileges of roles', () => {
    const [analyst, other] = ['analyst', 'other'].map(
      (name) => `${name}_${randomUUID().slice(0, 8)}`,
    );

    beforeEach(() => query(`CREATE ROLE ${analyst}; CREATE ROLE ${other}`));
    afterEach(() =>
      query(`DROP OWNED BY ${analyst}, ${other} CASCADE; DROP ROLE ${analyst}, ${other}`),
    );

    /** Runs a query with the privileges of a role. */
    const as = (role: string | undefined, sql: string): Promise<string> =>
      transaction(database.pool, async (tx) => {
        await tx.query(`SET LOCAL ROLE ${role}`);
        await tx.query(sql);
        return 'allowed';
      }).catch((error: unknown) => (hasCode(error, '42501') ? 'denied' : String(error)));
    const expectPrivileges = async (): Promise<void> => {
      for (const [expected, role, sql] of [
        ['allowed', analyst, 'SELECT * FROM projection_stats.links'],
        ['allowed', analyst, 'SELECT topic FROM projection_stats.checkpoints'],
        ['denied', analyst, 'SELECT next_offset FROM projection_stats.checkpoints'],
        ['denied', analyst, 'DELETE FROM projection_stats.links'],
        ['allowed', analyst, `GRANT SELECT ON projection_stats.links TO ${other}`],
        ['denied', other, 'SELECT FROM projection_stats.links'],
      ] as const) {
        expect(await as(role, sql), sql).to.equal(expected);
      }
      await query(`REVOKE SELECT ON projection_stats.links FROM ${other}`);
      // The default privileges are for tables of later migrations.
      await query('CREATE TABLE projection_stats.later ()');
      expect(await as(analyst, 'SELECT FROM projection_stats.later')).to.equal('allowed');
      await query('DROP TABLE projection_stats.later');
    };

    it('on schema, tables, columns and later tables; a rollback restores no revoked one', async () => {
      await append(history());
      await query(`
        GRANT USAGE ON SCHEMA projection_stats TO ${analyst};
        GRANT SELECT ON projection_stats.links TO ${analyst} WITH GRANT OPTION;
        GRANT SELECT (topic) ON projection_stats.checkpoints TO ${analyst};
        ALTER DEFAULT PRIVILEGES IN SCHEMA projection_stats GRANT SELECT ON TABLES TO ${analyst}`);
      await expectPrivileges();
      await rebuildNow(stats);
      await expectPrivileges();
      await rebuildNow(stats);
      await rollBackNow();
      await expectPrivileges();
      await query(`REVOKE SELECT ON projection_stats.links FROM ${analyst} CASCADE`);
      await rollBackNow();
      expect(await as(analyst, 'SELECT FROM projection_stats.links')).to.equal('denied');
    });
  });

  describe('is undone', () => {
    const visits = (sequences: number, from: number): readonly LinklogEvent[] =>
      count(sequences, (index) => spooledVisit('code-1', { sequence: from + index }));

    it('by the previous tables, caught up with the log; that can be undone too', async () => {
      const { pool } = database;
      await appendAndProject();
      await query(
        `UPDATE projection_stats.links SET clicks = clicks + 1000 WHERE subject = 'code-2'`,
      );
      await rebuildNow(stats);
      await append(visits(20, 1_000));
      await catchUpLive(stats);
      const [rebuilt, shape] = [await content(), await describeSchema(pool, 'projection_stats')];

      const reported: (readonly [number, number])[] = [];
      const progress = (done: number, total: number) => reported.push([done, total]);
      const outcome = await rollBackNow({ progress });
      expect(outcome).to.deep.equal({ applied: 20, repeats: 0, deadLetters: 0, parked: 0 });
      expect([reported[0], reported.at(-1)]).to.deep.equal([
        [533, 553],
        [553, 553],
      ]);
      expect(await exists('projection_stats_next')).to.be.false;
      expect(await content('_previous')).to.deep.equal(rebuilt);
      const clicks = () =>
        query(`SELECT clicks FROM projection_stats.links WHERE subject IN ('code-1', 'code-2')
               ORDER BY subject`);
      expect(await clicks()).to.deep.equal([{ clicks: 24 }, { clicks: 1_004 }]);

      await append(visits(5, 2_000));
      await catchUpLive(stats);
      await rollBackNow();
      expect(await clicks()).to.deep.equal([{ clicks: 29 }, { clicks: 4 }]);
      expect(await describeSchema(pool, 'projection_stats')).to.deep.equal(shape);
    });

    it('only if there are previous tables, of the same shape as the live ones', async () => {
      const never = await rejection(rollBackNow());
      expect(never).to.be.instanceOf(NoPreviousProjection);
      expect(never).to.include({ code: 'NO_PREVIOUS_PROJECTION' });
      expect(never).to.match(/not rebuilt yet/);
      await rebuildNow(stats);
      for (const change of [
        'ALTER TABLE projection_stats.links ADD COLUMN countries text',
        'CREATE INDEX ON projection_stats.links (clicks)',
        'CREATE TABLE projection_stats.countries (code text)',
      ]) {
        await query(change);
        expect(await rejection(rollBackNow()), change).to.match(/has other tables/);
        await rebuildNow(stats);
        await rollBackNow();
      }
    });

    it('for seven days from the last exchange: then the previous tables are dropped', async () => {
      const { pool } = database;
      const replacedDaysAgo = (days: number) =>
        query(
          `DO $$ BEGIN
             EXECUTE format('COMMENT ON SCHEMA projection_stats_previous IS %L',
               clock_timestamp() - interval '${days} days');
           END $$`,
        );
      const expectStored = async (): Promise<void> => {
        expect(await dropOldPrevious(pool)).to.equal(0);
        expect(await exists('projection_stats_previous')).to.be.true;
      };
      await rebuildNow(stats);
      await rebuildNow(redirects);
      await expectStored();
      await replacedDaysAgo(100);
      await rollBackNow();
      await expectStored();
      await replacedDaysAgo(6.9);
      await expectStored();
      await replacedDaysAgo(7.1);
      await withRebuildLock(pool, 'stats', async () => {
        expect(await rejection(dropOldPrevious(pool))).to.be.instanceOf(RebuildRunning);
      });
      expect(await dropOldPrevious(pool)).to.equal(1);
      expect(await exists('projection_stats_previous')).to.be.false;
      expect(await exists('projection_redirects_previous')).to.be.true;
      expect(await rejection(rollBackNow())).to.be.instanceOf(NoPreviousProjection);
    });

    it('only with the same log, and while no other rebuild runs', async () => {
      const { pool } = database;
      await appendAndProject();
      await rebuildNow(stats);
      const before = await content();
      await query(`UPDATE projection_stats_previous.checkpoints SET log_id = 'another'`);
      expect(await rejection(rollBackNow())).to.be.instanceOf(ForeignPosition);
      expect(await content()).to.deep.equal(before);
      await withRebuildLock(pool, 'stats', async () => {
        expect(await rejection(rollBackNow())).to.be.instanceOf(RebuildRunning);
        expect([...(await projectionsBeingRebuilt(pool))]).to.deep.equal(['stats']);
      });
      expect([...(await projectionsBeingRebuilt(pool))]).to.deep.equal([]);
    });
  });
});
