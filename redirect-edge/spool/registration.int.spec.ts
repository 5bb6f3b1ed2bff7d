import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { registerSpool } from './registration.js';
import { append, visit } from './testing/harness.js';
import { spoolFixture } from './testing/spool-fixture.js';

const logger = createLogger('silent');

describe('redirect edge: registered spool', () => {
  const bench = spoolFixture();
  const database = databaseFixture('registered_spool', { per: 'test' });

  const registered = async () => {
    const { rows } = await database.pool.query<{ id: string; visits: number }>(
      'SELECT id, (SELECT sum(n) FROM unnest(acknowledged) n)::int AS visits FROM log.spools',
    );
    return rows;
  };

  it('has the number of visits that were answered, shipped or not', async () => {
    bench.log.isUnavailable = true;
    const spool = await bench.open();
    for (const number of [1, 2, 3]) await append(spool, visit(number));
    const registration = registerSpool(database.pool, spool, logger);
    await eventually('they are registered', async () => (await registered()).length > 0);
    expect(await registered()).to.deep.equal([{ id: spool.id, visits: 3 }]);
    await append(spool, visit(4));
    await registration.stop();
    expect(await registered()).to.deep.equal([{ id: spool.id, visits: 4 }]);
  });

  it('does not exist without a visit; the last ones are registered for a year', async () => {
    await database.pool.query(
      `INSERT INTO log.spools VALUES ('old', '', '{9}', now() - interval '13 months'),
         ('recent', '', '{9}', now() - interval '11 months')`,
    );
    const spool = await bench.open();
    const registration = registerSpool(database.pool, spool, logger);
    await registration.stop();
    expect((await registered()).map(({ id }) => id)).to.have.members(['old', 'recent']);
    await append(spool, visit(1));
    await registration.stop();
    expect((await registered()).map(({ id }) => id)).to.have.members(['recent', spool.id]);
  });
});
