import { expect } from 'chai';
import { createBatchHandler } from '../../../../projectors/runtime/batch.js';
import { rebuild } from '../../../../projectors/runtime/rebuild.js';
import { redrive } from '../../../../projectors/runtime/redrive.js';
import { stats } from '../../../../projectors/statistics/projection.js';
import { topics } from '../../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../../schemas/testing/events.js';
import { createLogger } from '../../../platform/logging.js';
import { partitionOf } from '../../../event-log/partition.js';
import { createPool } from '../../../platform/postgres/pool.js';
import { verify } from './verify.js';
import { fixture } from '../../../test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../../test/support/fixtures.js';

const logger = createLogger('silent');
const { name: topic, partitions } = topics.visits;

/** Two links in one partition; the visits of the first become dead letters. */
const [poisoned = '', other = ''] = Array.from(
  { length: 40 },
  (_, index) => `link-${index}`,
).filter((subject) => partitionOf(subject, partitions) === 0);

/** 80 visits of each link at each time: two quarters of a day, another day of the month, a later month. */
const moments = ['2026-05-20T12:00', '2026-05-20T13:00', '2026-05-21T12:00', '2026-07-01T12:00'];

describe('audit verify, after dead letters were redriven', function () {
  this.timeout(60_000);
  const database = databaseFixture('redriven');
  const node = ledgerFixture(database);
  const pool = fixture(
    () => createPool({ url: database.url, name: 'test', max: 7, deadlines: 'patient', logger }),
    (pool) => pool.end(),
  );

  before(async () => {
    let sequence = 0;
    const visits = moments.flatMap((moment) =>
      [poisoned, other].flatMap((subject) =>
        Array.from({ length: 80 }, (_, index) => {
          sequence += 1;
          const time = new Date(`${moment}:00.${String(index).padStart(3, '0')}Z`);
          const event = spooledVisit(subject, { sequence, time, account: 'acme' });
          const referrer = `${subject}-${index}.example.com`;
          return recordOf({ ...event, data: { ...event.data, referrer } });
        }),
      ),
    );
    await node.log.append(topic, visits);
    const faulty: typeof stats = {
      ...stats,
      apply(tx, schema, visits, partition) {
        if (visits.some(({ subject }) => subject === poisoned)) throw new Error('poison');
        return stats.apply(tx, schema, visits, partition);
      },
    };
    const handle = createBatchHandler({ pool, log: node.log, logger, projection: faulty });
    for await (const batch of node.log.read(topic, 0, 0, visits.length)) await handle(batch);
    expect(await redrive({ pool, log: node.log, projection: stats })).to.deep.equal({
      applied: 320,
      repeats: 0,
      remaining: 0,
    });
  });

  const differing = async (): Promise<readonly string[]> => {
    const { differences } = await verify({ pool, log: node.log });
    for (const { table, eventCount } of differences) expect(eventCount, table).to.be.above(0);
    return differences.map(
      ({ table, columns }) => `${table} ${columns.map(({ name }) => name).join()}`,
    );
  };

  /** Returns the differences while the document of a row is altered. */
  const differingWith = async (
    table: string,
    where: string,
    [from, to]: readonly [from: string, to: string],
  ): Promise<readonly string[]> => {
    const forge = async (text: string, by: string): Promise<void> => {
      const { rowCount } = await pool.query(
        `UPDATE projection_stats.${table} SET document = regexp_replace(document, $1, $2) WHERE ${where}
         AND document ~ $1`,
        [text, by],
      );
      expect(rowCount).to.equal(1);
    };
    await forge(from, to);
    const found = await differing();
    await forge(to, from);
    return found;
  };

  it('ignores that redriven days keep other values than a fold of the log', async () => {
    const { rows } = await pool.query(
      `SELECT FROM projection_stats.account_days WHERE document LIKE '%"(other)"%'`,
    );
    expect(rows).to.have.length(2);
    expect(await differing()).to.deep.equal([]);
  });

  const day = Date.parse('2026-05-20') / 86_400_000;
  for (const [table, where] of [
    ['accounts', 'true'],
    ['account_days', `day = ${day}`],
    ['account_quarters', `quarter = 52`],
    ['account_months', 'true'],
  ] as const) {
    it(`finds a forged number in ${table}`, async () => {
      const entry = `"${other}-7.example.com",`;
      const { rows } = await pool.query<{ clicks: string }>(
        `SELECT substring(document FROM $1) AS clicks FROM projection_stats.${table} WHERE ${where}`,
        [`${entry}(\\d+)`],
      );
      const { clicks = '' } = rows[0] ?? {};
      const found = await differingWith(table, where, [`${entry}${clicks}`, `${entry}${clicks}1`]);
      expect(found).to.deep.equal([`${table} document`]);
    });
  }

  it('finds reordered values on a day that was not redriven', async () => {
    await pool.query(`DELETE FROM projection_stats.redriven_days WHERE day = $1`, [day + 1]);
    expect(await differing()).to.deep.equal(['account_days document']);
  });

  it('compares every value again after a rebuild', async () => {
    await rebuild({ pool, log: node.log, logger, projection: stats });
    expect(await differing()).to.deep.equal([]);
    const values = [`"${other}-7.example.com"`, '"forged.example.com"'] as const;
    expect(await differingWith('account_days', `day = ${day}`, values)).to.deep.equal([
      'account_days document',
    ]);
  });
});
