import { expect } from 'chai';
import { readLinkStatistics } from '../../../../command-api/statistics/statistics.js';
import { createBatchHandler } from '../../../../projectors/runtime/batch.js';
import { stats } from '../../../../projectors/statistics/projection.js';
import { topics } from '../../../../schemas/events/topics.js';
import { readStatsQuery, statsQuery } from '../../../../schemas/http/statistics.js';
import {
  at,
  created,
  firstVisitRecordOf,
  recordOf,
  spooledVisit,
  visited,
} from '../../../../schemas/testing/events.js';
import { createLogger } from '../../../platform/logging.js';
import { databaseFixture, ledgerFixture } from '../../../test/support/fixtures.js';
import { linkAsOf } from './link.js';

describe('audit as-of: statistics of a link', () => {
  const database = databaseFixture('lookback');
  const node = ledgerFixture(database);

  it('match the statistics projection', async () => {
    const { log, pool } = node;
    const noonOf = (day: number): number => day * 86_400;
    const visit = (sequence: number, day: number, referrer: string | null, bot = false) => {
      const event = spooledVisit('hello', { sequence, time: at(noonOf(day)) });
      const visitor = String(sequence % 70).padStart(16, 'v');
      return { ...event, data: { ...event.data, bot, referrer, visitor, country: 'NP' } };
    };
    const visits = Array.from({ length: 230 }, (_, index) =>
      visit(index + 1, index < 150 ? 0 : 1, `site-${index % 150}`, index % 10 === 0),
    );
    // The second one is shipped three days late: its visitor is not distinguished any more.
    const later = [visit(231, 3, null), visit(232, 0, 'site-149'), visit(233, 9, 'site-1')];
    const records = [...visits, ...visits.slice(-20), ...later].map(recordOf);
    // A visit of the first event version.
    const first = firstVisitRecordOf(visited('hello', null, { time: at(noonOf(3)) }));
    await log.append(topics.links.name, [recordOf(created('hello'))]);
    await log.append(topics.visits.name, [...records, first]);
    const logger = createLogger('silent');
    const handle = createBatchHandler({ pool, projection: stats, log, logger });
    for (const { partition, first: from, next } of await log.ranges(topics.visits.name)) {
      for await (const batch of log.read(topics.visits.name, partition, from, next)) {
        await handle(batch);
      }
    }
    const link = (seconds: number) => linkAsOf({ log, moment: at(seconds) }, 'hello');
    for (const day of [0, 1, 3]) {
      const moment = noonOf(day) + 1;
      const to = at(moment + 900).toISOString();
      const query = { include: 'all', limit: '200', from: '2026-05-01', to };
      const request = readStatsQuery(statsQuery, query, at(0));
      if ('refused' in request) throw new Error(request.refused);
      const { ofPeriod } = await readLinkStatistics(pool, 'hello', request);
      const { period, bots, timeseries, ...lists } = ofPeriod;
      expect(timeseries, `day ${day}`).to.be.an('array');
      const expected = { clickCount: period.clickCount, botCount: bots, ...lists };
      expect(await link(moment)).to.deep.include(expected);
    }
    const snapshot = await link(noonOf(3));
    const referrers = ('referrers' in snapshot ? snapshot.referrers : undefined) ?? [];
    expect(referrers).to.deep.include({ value: null, clicks: 2 });
    expect(referrers.at(-1)?.value).to.equal('(other)');
  });
});
