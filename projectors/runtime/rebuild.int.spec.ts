import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../ops/platform/errors.js';
import { createLogger } from '../../ops/platform/logging.js';
import { ForeignPosition, type EventLog, type Subscription } from '../../ops/event-log/port.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
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
} from './rebuild.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { readerLag, startProjection } from './live-projection.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');

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
    // Those of a test that failed: they would go on for ever.
    for (const subscription of running) await subscription.stop();
    await log.close();
  });

  const append = async (events: readonly LinklogEvent[]): Promise<void> => {
    for (const { name } of Object.values(topics)) {
      const records = events.filter((event) => topicOf(event) === name).map(recordOf);
      await log.append(name, records);
    }
  };

  const history = (): readonly LinklogEvent[] => [
    ...Array.from({ length: 100 }, (_, index) =>
      created(`code-${index}`, { keyId: `key-${index % 3}` }),
    ),
    ...Array.from({ length: 30 }, (_, index) => blocked(`code-${index * 3}`, 2)),
    // An event that cannot be applied, and two parked events.
    created('poison', { maxClicks: 3_000_000_000 }),
    blocked('poison', 2),
    blocked('poison', 3),
    ...Array.from({ length: 400 }, (_, index) =>
      spooledVisit(`code-${(index * 7) % 100}`, { sequence: index + 1, time: at(index) }),
    ),
    ...Array.from({ length: 20 }, (_, index) => metered(`key-${index % 3}`, 1 + index, index + 1)),
  ];

  const rebuildNow = (projection: Projection) =>
    rebuild({ pool: database.pool, log, logger, projection });

  const start = (projection: Projection): Subscription => {
    const subscription = startProjection({ pool: database.pool, log, logger, projection });
    running.push(subscription);
    return subscription;
  };

  const isCaughtUp = async (projection: Projection): Promise<boolean> =>
    (await readerLag(database.pool, log, liveSchema(projection.name), projection.topics)).lag === 0;

  /** Runs the live projection until it has applied all that there is. */
  const catchUpLive = async (projection: Projection): Promise<void> => {
    const live = start(projection);
    await eventually('the projection is caught up', () => isCaughtUp(projection));
    await live.stop();
  };

  const exists = async (schema: string): Promise<boolean> => {
    const { rows } = await database.pool.query('SELECT FROM pg_namespace WHERE nspname = $1', [
      schema,
    ]);
    return rows.length === 1;
  };

  const isWaitingForSwap = async (): Promise<boolean> => {
    const { rows } = await database.pool.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rows.length === 1;
  };

  for (const projection of projections) {
    it(`of ${projection.name} creates the rows of the live projection`, async () => {
      const { pool } = database;
      const schema = liveSchema(projection.name);
      await append(history());
      await catchUpLive(projection);
      const [content, shape] = [await dump(pool, schema), await describeSchema(pool, schema)];
      await rebuildNow(projection);
      await rebuildNow(projection);
      expect(await dump(pool, schema)).to.deep.equal(content);
      expect(await describeSchema(pool, schema)).to.deep.equal(shape);
      expect(await dump(pool, `${schema}_previous`)).to.deep.equal(content);
      expect(await exists(`${schema}_next`)).to.be.false;
    });
  }

  it('reports its progress and counts the outcomes of the records', async () => {
    await append(history());
    const heard: (readonly [number, number])[] = [];
    const outcome = await rebuild({
      pool: database.pool,
      log,
      logger,
      projection: redirects,
      progress: (done, total) => heard.push([done, total]),
    });
    expect(outcome).to.deep.equal({ applied: 130, repeats: 0, deadLetters: 1, parked: 2 });
    expect(heard[0]).to.deep.equal([0, 133]);
    expect(heard.at(-1)).to.deep.equal([133, 133]);
  });

  it('of an empty log creates an empty projection', async () => {
    expect(await rebuildNow(stats)).to.include({ applied: 0 });
    const content = await dump(database.pool, 'projection_stats');
    expect(Object.values(content).flat()).to.deep.equal([]);
  });

  it('repairs broken live tables, and keeps the broken ones as previous', async () => {
    const { pool } = database;
    await append(history());
    await catchUpLive(stats);
    const before = await dump(pool, 'projection_stats');
    await pool.query('UPDATE projection_stats.links SET clicks = clicks + 1000');
    const broken = await dump(pool, 'projection_stats');
    await rebuildNow(stats);
    expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
    expect(await dump(pool, 'projection_stats_previous')).to.deep.equal(broken);
  });

  it('drops the tables that an earlier rebuild left', async () => {
    await append(history());
    await database.pool.query(`CREATE SCHEMA projection_stats_next;
      CREATE TABLE projection_stats_next.leftover (); CREATE TABLE projection_stats_next.clicks ()`);
    await rebuildNow(stats);
    expect(Object.keys(await dump(database.pool, 'projection_stats'))).not.to.include('leftover');
  });

  it('continues after transient failures', async () => {
    await append(history());
    let failures = 3;
    const unlucky: typeof redirects = {
      ...redirects,
      async apply(tx, schema, events, partition) {
        await redirects.apply(tx, schema, events, partition);
        if (failures-- > 0) await tx.query(`DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$`);
      },
    };
    const outcome = await rebuildNow(unlucky);
    await catchUpLive(redirects);
    expect(outcome).to.include({ applied: 130, deadLetters: 1, parked: 2 });
  });

  it('that fails does not change the live tables', async () => {
    await append(history());
    await catchUpLive(stats);
    const before = await dump(database.pool, 'projection_stats');
    const failing: typeof stats = {
      ...stats,
      async apply(tx) {
        await tx.query('SELECT * FROM nowhere');
      },
    };
    expect(await rejection(rebuildNow(failing))).to.include({ code: '42P01' });
    expect(await dump(database.pool, 'projection_stats')).to.deep.equal(before);
    // Nor does it keep the lock.
    await rebuildNow(stats);
  });

  it('that the signal ends, while building or while waiting for the swap, leaves nothing behind', async () => {
    const { pool } = database;
    await append(history());
    await catchUpLive(stats);
    const before = await dump(pool, 'projection_stats');
    const endedWhen = async (ended: (end: () => void) => Promise<void>, projection = stats) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const rebuilding = rebuild({ pool, log, logger, projection, signal: controller.signal });
      const rejected = rejection(rebuilding);
      await ended(() => {
        controller.abort(reason);
      });
      expect(await rejected).to.equal(reason);
      expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
      expect(await exists('projection_stats_next')).to.be.false;
    };

    let inFlight = (): void => undefined;
    const begun = new Promise<void>((resolve) => (inFlight = resolve));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow: typeof stats = {
      ...stats,
      async apply(tx, schema, events, partition) {
        await stats.apply(tx, schema, events, partition);
        inFlight();
        await released;
      },
    };
    await endedWhen(async (end) => {
      await begun;
      end();
      release();
    }, slow);

    // A live batch that does not end.
    const live = await pool.connect();
    await live.query('BEGIN');
    await live.query(shareSchema('stats'));
    await endedWhen(async (end) => {
      await eventually('the rebuild waits for its swap', () => isWaitingForSwap());
      end();
      await live.query('COMMIT');
    });
    live.release();
    await rebuildNow(stats);
    expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
  });

  it('is refused while the same projection is rebuilt, not while another one is', async () => {
    await append(history());
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow: typeof stats = {
      ...stats,
      async apply(tx, schema, events, partition) {
        await stats.apply(tx, schema, events, partition);
        await released;
      },
    };
    const first = rebuildNow(slow);
    await eventually('the tables beside the live ones exist', () =>
      exists('projection_stats_next'),
    );
    const error = await rejection(rebuildNow(stats));
    expect(error).to.be.instanceOf(RebuildRunning);
    expect(error).to.have.property('code', 'REBUILD_RUNNING');
    await rebuildNow(redirects);
    release();
    await first;
    await rebuildNow(stats);
  });

  it('is refused when the live tables are of another log', async () => {
    await append(history());
    await catchUpLive(stats);
    await database.pool.query(`UPDATE projection_stats.checkpoints SET log_id = 'another'`);
    expect(await rejection(rebuildNow(stats))).to.be.instanceOf(ForeignPosition);
  });

  it('is refused when the live tables are past the end of the log', async () => {
    await append(history());
    await catchUpLive(stats);
    await database.pool.query('UPDATE projection_stats.checkpoints SET next_offset = 1000000');
    expect(await rejection(rebuildNow(stats))).to.be.instanceOf(ForeignPosition);
  });

  for (const [what, damage] of [
    ['was made from another log', `SET log_id = 'another'`],
    ['is behind the live one', 'SET next_offset = next_offset - 1'],
  ] as const) {
    it(`is not swapped in when it ${what}`, async () => {
      const { pool } = database;
      await append(history());
      await catchUpLive(stats);
      const before = await dump(pool, 'projection_stats');
      const client = await pool.connect();
      await cloneSchema(client, 'projection_stats', 'projection_stats_next');
      await client.query(`
        INSERT INTO projection_stats_next.checkpoints SELECT * FROM projection_stats.checkpoints;
        UPDATE projection_stats_next.checkpoints ${damage} WHERE partition = 3`);
      const error = await rejection(
        swapIn(client, 'stats', 'projection_stats_next', () => Promise.resolve()),
      );
      client.release();
      expect(error).to.match(/projection_stats_next is not at offset/);
      expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
    });
  }

  it('loses and doubles nothing while the live projector runs and a writer appends', async () => {
    const { pool } = database;
    const live = projections.map(start);
    let writing = true;
    let sequence = 0;
    let calls = 0;
    const write = async (): Promise<void> => {
      while (writing) {
        const events: LinklogEvent[] = [];
        for (let index = 0; index < 20; index += 1) {
          sequence += 1;
          const code = `code-${sequence}`;
          events.push(
            created(code, { keyId: `key-${sequence % 3}` }),
            blocked(code, 2),
            spooledVisit(`code-${sequence % 10}`, { sequence }),
          );
        }
        calls += 1;
        events.push(metered('key-1', calls, 2));
        await append(events);
        await sleep(5);
      }
    };
    const writer = write();
    try {
      for (let round = 0; round < 4; round += 1) {
        for (const projection of projections) await rebuildNow(projection);
      }
    } finally {
      writing = false;
      await writer;
    }
    for (const projection of projections)
      await eventually('the projection is caught up', () => isCaughtUp(projection));
    await Promise.all(live.map((subscription) => subscription.stop()));

    const clicks = await pool.query<{ total: number; codes: number }>(
      'SELECT sum(clicks)::bigint AS total, count(*) AS codes FROM projection_stats.links',
    );
    expect(clicks.rows).to.deep.equal([{ total: sequence, codes: 10 }]);
    const months = await pool.query<{ links: number; calls: number }>(
      'SELECT sum(links)::bigint AS links, sum(calls)::bigint AS calls FROM projection_quotas.months',
    );
    expect(months.rows).to.deep.equal([{ links: sequence, calls: 2 * calls }]);
    const links = await pool.query<{ links: number }>(
      `SELECT count(*) AS links FROM projection_redirects.links WHERE status = 'blocked'`,
    );
    expect(links.rows).to.deep.equal([{ links: sequence }]);

    for (const projection of projections) {
      const schema = liveSchema(projection.name);
      const content = await dump(pool, schema);
      await rebuildNow(projection);
      expect(await dump(pool, schema)).to.deep.equal(content);
    }
  }).timeout(60_000);

  it('swaps after the live batch in flight, which is applied once', async () => {
    const { pool } = database;
    await append(history());
    let inFlight = (): void => undefined;
    const begun = new Promise<void>((resolve) => (inFlight = resolve));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow: typeof stats = {
      ...stats,
      async apply(tx, schema, events, partition) {
        await stats.apply(tx, schema, events, partition);
        inFlight();
        await released;
      },
    };
    const live = start(slow);
    await begun;
    const rebuilding = rebuildNow(stats);
    await eventually('the rebuild waits for its swap', () => isWaitingForSwap());
    release();
    await rebuilding;
    await eventually('the projection is caught up', () => isCaughtUp(stats));
    await live.stop();
    const { rows } = await pool.query<{ total: number }>(
      'SELECT sum(clicks)::bigint AS total FROM projection_stats.links',
    );
    expect(rows).to.deep.equal([{ total: 400 }]);
  });

  describe('keeps the privileges of roles', () => {
    const analyst = `analyst_${randomUUID().slice(0, 8)}`;
    const other = `other_${randomUUID().slice(0, 8)}`;

    beforeEach(async () => {
      await database.pool.query(`CREATE ROLE ${analyst}; CREATE ROLE ${other}`);
    });

    afterEach(async () => {
      await database.pool.query(
        `DROP OWNED BY ${analyst}, ${other} CASCADE; DROP ROLE ${analyst}, ${other}`,
      );
    });

    /** Runs a query with the privileges of a role. */
    const as = async (role: string, sql: string): Promise<string> => {
      const client = await database.pool.connect();
      try {
        await client.query(`SET ROLE ${role}`);
        await client.query(sql);
        return 'allowed';
      } catch (error) {
        return hasCode(error, '42501') ? 'denied' : String(error);
      } finally {
        await client.query('RESET ROLE');
        client.release();
      }
    };
    const expectPrivileges = async (): Promise<void> => {
      const outcomes = [
        await as(analyst, 'SELECT * FROM projection_stats.links'),
        await as(analyst, 'SELECT topic FROM projection_stats.checkpoints'),
        await as(analyst, 'SELECT next_offset FROM projection_stats.checkpoints'),
        await as(analyst, 'DELETE FROM projection_stats.links'),
        await as(analyst, `GRANT SELECT ON projection_stats.links TO ${other}`),
        await as(other, 'SELECT FROM projection_stats.links'),
      ];
      expect(outcomes).to.deep.equal([
        ...['allowed', 'allowed', 'denied', 'denied'],
        ...['allowed', 'denied'],
      ]);
      // The default privileges are for tables of later migrations.
      await database.pool.query('CREATE TABLE projection_stats.later ()');
      expect(await as(analyst, 'SELECT FROM projection_stats.later')).to.equal('allowed');
      await database.pool.query('DROP TABLE projection_stats.later');
    };

    it('on schema, tables, columns and later tables, and can be undone', async () => {
      const { pool } = database;
      await append(history());
      await pool.query(`
        GRANT USAGE ON SCHEMA projection_stats TO ${analyst};
        GRANT SELECT ON projection_stats.links TO ${analyst} WITH GRANT OPTION;
        GRANT SELECT (topic) ON projection_stats.checkpoints TO ${analyst};
        ALTER DEFAULT PRIVILEGES IN SCHEMA projection_stats GRANT SELECT ON TABLES TO ${analyst}`);
      await expectPrivileges();
      await rebuildNow(stats);
      await pool.query(`REVOKE SELECT ON projection_stats.links FROM ${other}`);
      await expectPrivileges();
      await rebuildNow(stats);
      await rollBack({ pool, log, logger, projection: stats });
      await pool.query(`REVOKE SELECT ON projection_stats.links FROM ${other}`);
      await expectPrivileges();
    });

    it('that were revoked since the last rebuild are not restored by a rollback', async () => {
      const { pool } = database;
      const read = (): Promise<string> => as(analyst, 'SELECT FROM projection_stats.links');
      await pool.query(`GRANT USAGE ON SCHEMA projection_stats TO ${analyst};
        GRANT SELECT ON projection_stats.links TO ${analyst}`);
      await rebuildNow(stats);
      expect(await read()).to.equal('allowed');
      await pool.query(`REVOKE SELECT ON projection_stats.links FROM ${analyst}`);
      expect(await read()).to.equal('denied');
      await rollBack({ pool, log, logger, projection: stats });
      expect(await read()).to.equal('denied');
    });
  });

  describe('is undone', () => {
    const rollBackNow = (projection: Projection) =>
      rollBack({ pool: database.pool, log, logger, projection });

    const visits = async (count: number, from: number): Promise<void> => {
      await append(
        Array.from({ length: count }, (_, index) =>
          spooledVisit('code-1', { sequence: from + index }),
        ),
      );
    };

    it('by the previous tables, caught up with the log; that can be undone too', async () => {
      const { pool } = database;
      await append(history());
      await catchUpLive(stats);
      await pool.query(`UPDATE projection_stats.links SET clicks = clicks + 1000
                        WHERE subject = 'code-2'`);
      await rebuildNow(stats);
      await visits(20, 1_000);
      await catchUpLive(stats);
      const rebuilt = await dump(pool, 'projection_stats');
      const shape = await describeSchema(pool, 'projection_stats');

      const heard: (readonly [number, number])[] = [];
      const outcome = await rollBack({
        pool,
        log,
        logger,
        projection: stats,
        progress: (done, total) => heard.push([done, total]),
      });
      expect(outcome).to.deep.equal({ applied: 20, repeats: 0, deadLetters: 0, parked: 0 });
      expect([heard[0], heard.at(-1)]).to.deep.equal([
        [533, 553],
        [553, 553],
      ]);
      expect(await exists('projection_stats_next')).to.be.false;
      expect(await dump(pool, 'projection_stats_previous')).to.deep.equal(rebuilt);
      const clicks = async (code: string): Promise<number> => {
        const { rows } = await pool.query<{ clicks: number }>(
          'SELECT clicks FROM projection_stats.links WHERE subject = $1',
          [code],
        );
        return rows[0]?.clicks ?? 0;
      };
      expect([await clicks('code-1'), await clicks('code-2')]).to.deep.equal([24, 1_004]);

      await visits(5, 2_000);
      await catchUpLive(stats);
      await rollBackNow(stats);
      expect([await clicks('code-1'), await clicks('code-2')]).to.deep.equal([29, 4]);
      expect(await describeSchema(pool, 'projection_stats')).to.deep.equal(shape);
    });

    it('only if there are previous tables, of the same shape as the live ones', async () => {
      const { pool } = database;
      const never = await rejection(rollBackNow(stats));
      expect(never).to.be.instanceOf(NoPreviousProjection);
      expect(never)
        .to.include({ code: 'NO_PREVIOUS_PROJECTION' })
        .and.to.match(/not rebuilt yet/);
      await rebuildNow(stats);
      for (const change of [
        'ALTER TABLE projection_stats.links ADD COLUMN countries text',
        'CREATE INDEX ON projection_stats.links (clicks)',
        'CREATE TABLE projection_stats.countries (code text)',
      ]) {
        await pool.query(change);
        expect(await rejection(rollBackNow(stats)), change).to.match(/has other tables/);
        await rebuildNow(stats);
        await rollBackNow(stats);
      }
    });

    it('for seven days: then the previous tables are dropped', async () => {
      const { pool } = database;
      const replacedDaysAgo = (days: number): Promise<unknown> =>
        pool.query(
          `DO $$ BEGIN
             EXECUTE format('COMMENT ON SCHEMA projection_stats_previous IS %L',
               clock_timestamp() - interval '${days} days');
           END $$`,
        );
      await rebuildNow(stats);
      await rebuildNow(redirects);
      for (const days of [0, 6.9]) {
        if (days > 0) await replacedDaysAgo(days);
        expect(await dropOldPrevious(pool)).to.equal(0);
        expect(await exists('projection_stats_previous')).to.be.true;
      }
      await replacedDaysAgo(7.1);
      await withRebuildLock(pool, 'stats', async () => {
        expect(await rejection(dropOldPrevious(pool))).to.be.instanceOf(RebuildRunning);
      });
      expect(await dropOldPrevious(pool)).to.equal(1);
      expect(await exists('projection_stats_previous')).to.be.false;
      expect(await exists('projection_redirects_previous')).to.be.true;
      expect(await rejection(rollBackNow(stats))).to.be.instanceOf(NoPreviousProjection);
    });

    it('for seven days from the last exchange, not from the first', async () => {
      const { pool } = database;
      await rebuildNow(stats);
      await pool.query(`COMMENT ON SCHEMA projection_stats_previous IS '2020-01-01'`);
      await rollBackNow(stats);
      expect(await dropOldPrevious(pool)).to.equal(0);
      expect(await exists('projection_stats_previous')).to.be.true;
    });

    it('only with the same log, and while no other rebuild runs', async () => {
      const { pool } = database;
      await append(history());
      await catchUpLive(stats);
      await rebuildNow(stats);
      const before = await dump(pool, 'projection_stats');
      await pool.query(`UPDATE projection_stats_previous.checkpoints SET log_id = 'another'`);
      expect(await rejection(rollBackNow(stats))).to.be.instanceOf(ForeignPosition);
      expect(await dump(pool, 'projection_stats')).to.deep.equal(before);
      await withRebuildLock(pool, 'stats', async () => {
        expect(await rejection(rollBackNow(stats))).to.be.instanceOf(RebuildRunning);
        expect([...(await projectionsBeingRebuilt(pool))]).to.deep.equal(['stats']);
      });
      expect([...(await projectionsBeingRebuilt(pool))]).to.deep.equal([]);
    });

    it('while the live projector runs and a writer appends, and loses and doubles nothing', async () => {
      const { pool } = database;
      await append(history().slice(0, 100));
      const live = start(stats);
      await rebuildNow(stats);
      let writing = true;
      let sequence = 0;
      const write = async (): Promise<void> => {
        while (writing) {
          await visits(20, sequence + 1);
          sequence += 20;
          await sleep(5);
        }
      };
      const writer = write();
      try {
        for (let round = 0; round < 6; round += 1) await rollBackNow(stats);
      } finally {
        writing = false;
        await writer;
      }
      await eventually('the projection is caught up', () => isCaughtUp(stats));
      await live.stop();
      const { rows } = await pool.query<{ clicks: number }>(
        'SELECT clicks FROM projection_stats.links',
      );
      expect(rows).to.deep.equal([{ clicks: sequence }]);
    }).timeout(60_000);
  });
});
