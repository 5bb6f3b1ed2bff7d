import { expect } from 'chai';
import { createLogger } from '../ops/platform/logging.js';
import { ForeignPosition, type EventLog } from '../ops/event-log/port.js';
import { createPool } from '../ops/platform/postgres/pool.js';
import { topics } from '../schemas/events/topics.js';
import { rebuildDue } from '../schemas/read-models/rebuild-due.js';
import { projectionStatus, startProjectors, type Projectors } from './main.js';
import { blocked, created, metered, recordOf, spooledVisit } from '../schemas/testing/events.js';
import { projections } from './projections.js';
import { eventually, rejection } from '../ops/test/support/waiting.js';
import { openTestLog } from '../ops/test/support/node.js';
import { databaseFixture } from '../ops/test/support/fixtures.js';

const logger = createLogger('silent');

describe('projectors: projectors', () => {
  const database = databaseFixture('projectors', { per: 'test' });
  let log: EventLog;
  let running: Projectors[];

  beforeEach(async () => {
    running = [];
    ({ log } = await openTestLog({ pool: database.pool, url: database.url, logger }));
  });

  afterEach(async () => {
    // Those of a test that failed: they would go on for ever.
    for (const projectors of running) await projectors.stop();
    await log.close();
  });

  const start = async (pool = database.pool, from = log): Promise<Projectors> => {
    const projectors = await startProjectors({ pool, log: from, logger });
    running.push(projectors);
    return projectors;
  };

  const isCaughtUp = async (): Promise<boolean> =>
    (await projectionStatus(database.pool, log)).every(({ lag }) => lag === 0);

  const count = async (table: string): Promise<number> => {
    const { rows } = await database.pool.query<{ count: number }>(`SELECT count(*) FROM ${table}`);
    return rows[0]?.count ?? 0;
  };

  it('drop old previous tables', async () => {
    await database.pool.query(`CREATE SCHEMA projection_stats_previous;
      COMMENT ON SCHEMA projection_stats_previous IS '2020-01-01';
      CREATE SCHEMA projection_history_previous;
      CREATE TABLE projection_history_previous.undated ()`);
    await start();
    await eventually('they are gone', async () => {
      const { rows } = await database.pool.query(
        `SELECT FROM pg_namespace WHERE nspname LIKE 'projection_%_previous'`,
      );
      return rows.length === 0;
    });
  });

  it('report lag, dead letters and parked events', async () => {
    const poison = created('b', { maxClicks: 3_000_000_000 });
    await log.append(
      topics.links.name,
      [created('a'), poison, blocked('b', 2), blocked('b', 3)].map(recordOf),
    );
    await log.append(topics.visits.name, [recordOf(spooledVisit('a'))]);
    await log.append(topics.usage.name, [recordOf(metered('key-1', 1, 1))]);
    const none = { deadLetters: 0, parked: 0 };
    const appended = new Map<string, number>([
      [topics.links.name, 4],
      [topics.visits.name, 1],
      [topics.usage.name, 1],
    ]);
    expect(await projectionStatus(database.pool, log)).to.deep.equal(
      projections.map((projection) => ({
        name: projection.name,
        lag: projection.topics.reduce((lag, topic) => lag + (appended.get(topic) ?? 0), 0),
        ...none,
      })),
    );
    const projectors = await start();
    await eventually('the projectors are caught up', isCaughtUp);
    // Its table has a column that cannot hold the click limit.
    const poisoned = ['redirects'];
    expect(await projectionStatus(database.pool, log)).to.deep.equal(
      projections.map(({ name }) => ({
        ...{ name, lag: 0 },
        ...(poisoned.includes(name) ? { deadLetters: 1, parked: 2 } : none),
      })),
    );
    await projectors.stop();
  });

  it('apply appended events, and continue at their checkpoints after a restart', async () => {
    const first = await start();
    await log.append(topics.links.name, [recordOf(created('a'))]);
    await eventually('the projections are caught up', isCaughtUp);
    await first.stop();
    await log.append(topics.links.name, [recordOf(created('b'))]);
    expect(await count('projection_redirects.links')).to.equal(1);
    const second = await start();
    await eventually('the projections are caught up', isCaughtUp);
    await second.stop();
    expect(await count('projection_redirects.links')).to.equal(2);
  });

  it('rebuild projections that a migration has marked, once', async () => {
    await log.append(topics.visits.name, [recordOf(spooledVisit('a'))]);
    const first = await start();
    await eventually('the projections are caught up', isCaughtUp);
    await first.stop();
    await database.pool.query(`UPDATE projection_stats.links SET series = '[]';
      DELETE FROM projection_stats.accounts; COMMENT ON SCHEMA projection_stats IS '${rebuildDue}'`);
    await Promise.all([start(), start()]);
    await eventually('the projection is rebuilt', async () => {
      return (await count('projection_stats.accounts')) === 1;
    });
    await eventually('it has no mark, and nothing is left of the old one', async () => {
      const { rows } = await database.pool.query(
        `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'projection_stats_%'
           OR obj_description(oid, 'pg_namespace') = '${rebuildDue}'`,
      );
      return rows.length === 0;
    });
    const { rows } = await database.pool.query('SELECT clicks, series FROM projection_stats.links');
    expect(rows).to.deep.equal([{ clicks: 1, series: '[48,1,0]' }]);
  });

  it('count each event once when two of them run', async () => {
    const services = [await start(), await start()];
    for (let sequence = 1; sequence <= 200; sequence += 1) {
      await log.append(topics.visits.name, [recordOf(spooledVisit('a', { sequence }))]);
    }
    await eventually('the projections are caught up', isCaughtUp);
    await Promise.all(services.map((projectors) => projectors.stop()));
    const { rows } = await database.pool.query('SELECT clicks FROM projection_stats.links');
    expect(rows).to.deep.equal([{ clicks: 200 }]);
  });

  it('do not start on tables of another log', async () => {
    const projectors = await start();
    await log.append(topics.links.name, [recordOf(created('a'))]);
    await eventually('the projections are caught up', isCaughtUp);
    await projectors.stop();
    await database.pool.query(`UPDATE projection_quotas.checkpoints SET log_id = 'another'`);
    const error = await rejection(start());
    expect(error).to.be.instanceOf(ForeignPosition);
    expect(error).to.have.property('code', 'FOREIGN_POSITION');
  });

  it('fail when their tables are replaced with those of another log', async () => {
    const projectors = await start();
    const failed = rejection(projectors.failed);
    await log.append(topics.links.name, [recordOf(created('a'))]);
    await eventually('the projections are caught up', isCaughtUp);
    await database.pool.query(`UPDATE projection_quotas.checkpoints SET log_id = 'another'`);
    await log.append(topics.links.name, [recordOf(blocked('a', 2))]);
    expect(await failed).to.be.instanceOf(ForeignPosition);
    await projectors.stop();
  });

  it('survive the loss of every connection', async () => {
    const pool = createPool({ url: database.url, name: 'victims', max: 4, logger });
    const { log: theirs } = await openTestLog({ pool, url: database.url, logger });
    const projectors = await start(pool, theirs);
    for (let sequence = 1; sequence <= 100; sequence += 1) {
      await log.append(topics.visits.name, [recordOf(spooledVisit('a', { sequence }))]);
      if (sequence % 20 !== 0) continue;
      await database.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'linklog victims'`,
      );
    }
    await eventually('the projections are caught up', isCaughtUp);
    await projectors.stop();
    await theirs.close();
    await pool.end();
    const { rows } = await database.pool.query('SELECT clicks FROM projection_stats.links');
    expect(rows).to.deep.equal([{ clicks: 100 }]);
  });
});
