import { expect } from 'chai';
import { defaultPlanTable } from '../../schemas/plans.js';
import { derivedKey, meterOf, newKey, setMeter, type TestKey } from '../testing/keys.js';
import { createAdmission } from './admission.js';
import { createConsoleAdmission } from './console-calls.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';

describe('command API: calls of the console, on two nodes', () => {
  const database = databaseFixture('consolecalls');
  const nodes = twoLedgersFixture(database);
  const consoles = fixture(() =>
    nodes.map(({ pool, clock }) =>
      createConsoleAdmission(pool, createAdmission(pool, clock, defaultPlanTable)),
    ),
  );

  /** By turns on the two nodes, all at once; how many had each outcome. */
  const call = async (
    keys: readonly TestKey[],
    count: number,
    told: { metered?: boolean; logUnavailable?: boolean } = {},
  ): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    const admitted = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        consoles[index % 2]?.admit({
          keyHash: keys[index % keys.length]?.hash ?? null,
          metered: true,
          ...told,
        }),
      ),
    );
    for (const one of admitted) {
      const type = one?.admission.type ?? 'none';
      counts[type] = (counts[type] ?? 0) + 1;
    }
    return counts;
  };

  const setDay = (key: TestKey, calls: number, daysAgo = 0): Promise<unknown> =>
    database.pool.query(
      `INSERT INTO ledger.console_calls (root_id, day, calls)
       VALUES ($1, (now() AT TIME ZONE 'UTC')::date - $3::int, $2)`,
      [key.id, calls, daysAgo],
    );

  const freeOf = async (key: TestKey): Promise<number | undefined> => {
    const { rows } = await database.pool.query<{ calls: number }>(
      'SELECT calls FROM ledger.console_calls WHERE root_id = $1',
      [key.id],
    );
    return rows[0]?.calls;
  };

  it('cost none of the month up to 1,000 a day, exactly, and then one each', async () => {
    const key = await newKey(nodes[0], 'PRO');
    expect(await call([key], 30)).to.deep.equal({ admitted: 30 });
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 30, month_calls: 0 });
    await database.pool.query('DELETE FROM ledger.console_calls');
    await setDay(key, 983);
    expect(await call([key], 30)).to.deep.equal({ admitted: 30 });
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 60, month_calls: 13 });
    expect(await freeOf(key)).to.equal(1_000);
  });

  it('take further calls of the day first, then of the month, exactly', async () => {
    const key = await newKey(nodes[0], 'FREE');
    await setDay(key, 900);
    await setMeter(
      nodes[0],
      key,
      `month_calls = 1950, month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
    );
    const { id, account } = key;
    const calling = { id, rootId: id, name: 'test', plan: 'FREE', account, scopes: [] } as const;
    const taken = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        consoles[index % 2]?.reserveCalls(calling, 9, key.hash),
      ),
    );
    expect(taken.reduce((sum, one) => sum + (one?.granted ?? 0), 0)).to.equal(150);
    expect(await freeOf(key)).to.equal(1_000);
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 0, month_calls: 2_000 });
  });

  it('are those of a root and all keys below it together', async () => {
    const root = await newKey(nodes[0], 'PRO');
    const derived = await derivedKey(nodes[0], root);
    await setDay(root, 990);
    expect(await call([root, derived], 30)).to.deep.equal({ admitted: 30 });
    expect((await meterOf(nodes[0], root)).month_calls).to.equal(20);
  });

  it('are 1,000 again on the next day, and not on one before', async () => {
    const key = await newKey(nodes[0], 'PRO');
    await setDay(key, 1_000, 1);
    await call([key], 4);
    expect((await meterOf(nodes[0], key)).month_calls).to.equal(0);
    expect(await freeOf(key)).to.equal(4);
    const ahead = await newKey(nodes[0], 'PRO');
    await setDay(ahead, 1_000, -1);
    await call([ahead], 4);
    expect((await meterOf(nodes[0], ahead)).month_calls).to.equal(4);
  });

  it('pass when the month is spent, as long as they are free', async () => {
    const key = await newKey(nodes[0], 'FREE');
    await setMeter(
      nodes[0],
      key,
      `month_calls = 2000, month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
    );
    await setDay(key, 998);
    expect(await call([key], 6)).to.deep.equal({ admitted: 2, callsExhausted: 4 });
  });

  it('use nothing up where they are refused, or cost nothing anyway', async () => {
    const key = await newKey(nodes[0], 'FREE');
    expect(await call([key], 5, { logUnavailable: true })).to.deep.equal({ logUnavailable: 5 });
    expect(await call([key], 5, { metered: false })).to.deep.equal({ admitted: 5 });
    expect(await freeOf(key)).to.equal(0);
    expect(await call([key], 80)).to.deep.equal({ admitted: 55, rateLimited: 25 });
    expect(await freeOf(key)).to.equal(55);
    const nobody = { ...key, hash: 'ab'.repeat(32) };
    expect(await call([nobody], 2)).to.deep.equal({ keyInvalid: 2 });
  });
});
