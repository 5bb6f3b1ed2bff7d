import { expect } from 'chai';
import { execute, transaction } from '../platform/postgres/pool.js';
import { meterOf, newKey, setMeter, type TestKey } from '../../command-api/testing/keys.js';
import { lockMeters, saveMeters } from './meters.js';
import { writeOnly } from '../platform/postgres/statement.js';
import { databaseFixture, ledgerFixture } from '../test/support/fixtures.js';

const thisMonth = (): string => `${new Date().toISOString().slice(0, 7)}-01`;

describe('ledger: meters of keys', () => {
  const database = databaseFixture('meters');
  const node = ledgerFixture(database);
  let key: TestKey;

  beforeEach(async () => {
    key = await newKey(node);
  });

  const spendOne = (): Promise<void> =>
    transaction(node.pool, async (tx) => {
      const { meters } = await lockMeters(tx, [key.id, key.id], node.clock);
      const meter = meters.get(key.id);
      if (!meter) throw new Error('The key has a meter');
      meter.links += 1;
      meter.allLinks += 1;
      await execute(tx, writeOnly(saveMeters([meter])));
    });

  const spent = { month_calls: 7, month_links: 8, month_qr_codes: 9 };
  const zero = { month_calls: 0, month_links: 1, month_qr_codes: 0 };
  for (const [what, month, counts, others] of [
    ['continues to count within a month', thisMonth(), { ...spent, month_links: 9 }, {}],
    ['starts from zero in another month, for all monthly counts', '2026-01-01', zero, {}],
    [
      'leaves a month that a wrong clock has started',
      '2999-01-01',
      { month_calls: 4, month_links: 6, month_qr_codes: 6 },
      { [thisMonth()]: [4, 5, 6] },
    ],
  ] as const) {
    it(what, async () => {
      const columns = {
        month: `'${month}'`,
        other_months: `'${JSON.stringify(others)}'`,
        ...spent,
      };
      const assignments = Object.entries(columns).map(([name, value]) => `${name} = ${value}`);
      await setMeter(node, key, assignments.join(', '));
      await spendOne();
      expect(await meterOf(node, key)).to.deep.equal({
        ...{ window_calls: 0, month: thisMonth(), ...counts },
      });
    });
  }

  it('counts concurrent links', async () => {
    await Promise.all(Array.from({ length: 20 }, spendOne));
    expect((await meterOf(node, key)).month_links).to.equal(20);
    const { rows } = await node.pool.query<{ all_links: number }>(
      'SELECT all_links FROM ledger.key_meters WHERE key_id = $1',
      [key.id],
    );
    expect(rows).to.deep.equal([{ all_links: 20 }]);
  });

  it('returns PostgreSQL’s time while the locks are held', async () => {
    const holder = await node.pool.connect();
    await holder.query('BEGIN');
    await lockMeters(holder, [key.id], node.clock);
    const waiting = transaction(node.pool, (tx) => lockMeters(tx, [key.id], node.clock));
    const { rows } = await node.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    await holder.query('SELECT pg_sleep(0.05)');
    await holder.query('COMMIT');
    holder.release();
    const { now } = await waiting;
    expect(now.getTime()).to.be.at.least((rows[0]?.now.getTime() ?? Infinity) + 40);
  });

  it('fails for keys without a meter', async () => {
    const locking = transaction(node.pool, (tx) => lockMeters(tx, ['unknown'], node.clock));
    const error: unknown = await locking.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('message').match(/meter/);
  });
});
