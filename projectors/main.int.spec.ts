import { expect } from 'chai';
import { createLogger } from '../ops/platform/logging.js';
import { ForeignPosition, type EventLog } from '../ops/event-log/port.js';
import { topics } from '../schemas/events/topics.js';
import { rebuildDue } from '../ops/platform/postgres/generation.js';
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
    // Those of a failed test would run forever.
    for (const projectors of running) await projectors.stop();
    await log.close();
  });

  const start = async (pool = database.pool, from = log): Promise<Projectors> => {
    const projectors = await startProjectors({ pool, log: from, logger });
    running.push(projectors);
    return projectors;
  };

  const caughtUp = (): Promise<void> =>
    eventually('the projections are caught up', async () =>
      (await projectionStatus(database.pool, log)).every(({ lag }) => lag === 0),
    );

  const query = async (text: string): Promise<readonly unknown[]> =>
    (await database.pool.query<Record<string, unknown>>(text)).rows;

  const appendVisits = async (
    visits: number,
    then?: (sequence: number) => unknown,
  ): Promise<void> => {
    for (let sequence = 1; sequence <= visits; sequence += 1) {
      await log.append(topics.visits.name, [recordOf(spooledVisit('a', { sequence }))]);
      await then?.(sequence);
    }
  };
  const clicks = () => query('SELECT clicks FROM projection_stats.links');

  it('report lag, dead letters and parked events', async () => {
    const poison = created('b', { maxClicks: 3_000_000_000 });
    await log.append(
      topics.links.name,
      [created('a'), poison, blocked('b', 2), blocked('b', 3)].map(recordOf),
    );
    await appendVisits(1);
    await log.append(topics.usage.name, [recordOf(metered('key-1', 1, 1))]);
    const none = { deadLetters: 0, parked: 0 };
    const appended = new Map<string, number>([
      ...[[topics.links.name, 4] as const, [topics.visits.name, 1] as const],
      [topics.usage.name, 1],
    ]);
    expect(await projectionStatus(database.pool, log)).to.deep.equal(
      projections.map(({ name, topics }) => ({
        ...{ name, ...none },
        lag: topics.reduce((lag, topic) => lag + (appended.get(topic) ?? 0), 0),
      })),
    );
    await start();
    await caughtUp();
    // Only the column of redirects cannot store the click limit.
    const poisoned = { deadLetters: 1, parked: 2 };
    expect(await projectionStatus(database.pool, log)).to.deep.equal(
      projections.map(({ name }) => ({
        ...{ name, lag: 0, ...(name === 'redirects' ? poisoned : none) },
      })),
    );
  });

  it('rebuild projections that a migration has marked, once', async () => {
    await appendVisits(1);
    const first = await start();
    await caughtUp();
    await first.stop();
    await query(`UPDATE projection_stats.links SET series = '[]';
      DELETE FROM projection_stats.accounts; COMMENT ON SCHEMA projection_stats IS '${rebuildDue}'`);
    await Promise.all([start(), start()]);
    await eventually('the projection is rebuilt', async () => {
      return (await query('SELECT FROM projection_stats.accounts')).length === 1;
    });
    await eventually('it has no mark, and no old tables are left', async () => {
      const left = await query(
        `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'projection_stats_%'
           OR obj_description(oid, 'pg_namespace') = '${rebuildDue}'`,
      );
      return left.length === 0;
    });
    const links = await query('SELECT clicks, series FROM projection_stats.links');
    expect(links).to.deep.equal([{ clicks: 1, series: '[48,1,0]' }]);
  });

  it('count each event once when two of them run', async () => {
    await Promise.all([start(), start()]);
    await appendVisits(200);
    await caughtUp();
    expect(await clicks()).to.deep.equal([{ clicks: 200 }]);
  });

  it('fail when their tables are replaced with those of another log, and do not start on them', async () => {
    const projectors = await start();
    const failed = rejection(projectors.failed);
    await log.append(topics.links.name, [recordOf(created('a'))]);
    await caughtUp();
    await query(`UPDATE projection_quotas.checkpoints SET log_id = 'another'`);
    await log.append(topics.links.name, [recordOf(blocked('a', 2))]);
    expect(await failed).to.be.instanceOf(ForeignPosition);
    await projectors.stop();
    const error = await rejection(start());
    expect(error).to.be.instanceOf(ForeignPosition).and.to.include({ code: 'FOREIGN_POSITION' });
  });
});
