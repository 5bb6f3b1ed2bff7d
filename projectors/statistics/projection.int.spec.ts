import { expect } from 'chai';
import { topics } from '../../schemas/events/topics.js';
import { at, firstVisitRecordOf, noon, spooledVisit } from '../../schemas/testing/events.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { stats } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

describe('projectors: projection stats', () => {
  const database = databaseFixture('stats');
  const given = fixture(() => feed(database.pool, stats));

  beforeEach(() => emptyTables(database.pool, 'projection_stats'));

  const clicks = async (): Promise<readonly unknown[]> => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      'SELECT subject, clicks, bots, last_accessed FROM projection_stats.links ORDER BY subject',
    );
    return rows;
  };

  it('counts clicks and bots separately', async () => {
    await given.events(
      spooledVisit('abc', { sequence: 1 }),
      spooledVisit('def', { sequence: 2 }),
      spooledVisit('abc', { sequence: 3, bot: true }),
      spooledVisit('abc', { sequence: 4 }),
    );
    expect(await clicks()).to.deep.equal([
      { subject: 'abc', clicks: 2, bots: 1, last_accessed: noon },
      { subject: 'def', clicks: 1, bots: 0, last_accessed: noon },
    ]);
  });

  it('counts visits of earlier versions, which have fewer fields', async () => {
    const visits = [spooledVisit('abc'), spooledVisit('abc', { sequence: 2, bot: true })];
    await given.records(topics.visits.name, visits.map(firstVisitRecordOf));
    await given.events(spooledVisit('abc', { sequence: 3 }));
    expect(await clicks()).to.deep.equal([
      { subject: 'abc', clicks: 2, bots: 1, last_accessed: noon },
    ]);
  });

  it('sets the last access to the latest click in any order of spools', async () => {
    await given.events(
      spooledVisit('abc', { sequence: 1, time: at(10) }),
      spooledVisit('abc', { sequence: 1, time: at(30), spool: 'spool-2' }),
      spooledVisit('abc', { sequence: 2, time: at(40), bot: true }),
    );
    await given.events(spooledVisit('abc', { sequence: 3, time: at(20) }));
    expect(await clicks()).to.deep.equal([
      { subject: 'abc', clicks: 3, bots: 1, last_accessed: at(30) },
    ]);
  });

  it('sets no last access for bots', async () => {
    await given.events(spooledVisit('abc', { bot: true }));
    expect(await clicks()).to.deep.equal([
      { subject: 'abc', clicks: 0, bots: 1, last_accessed: null },
    ]);
    await given.events(spooledVisit('abc', { sequence: 2, time: at(1) }));
    expect(await clicks()).to.deep.equal([
      { subject: 'abc', clicks: 1, bots: 1, last_accessed: at(1) },
    ]);
  });
});
