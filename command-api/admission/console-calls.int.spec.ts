import { expect } from 'chai';
import { defaultPlanTable } from '../../schemas/plans.js';
import { countOutcomes } from '../testing/admission.js';
import { derivedKey, meterOf, newKey, setMeter, thisMonth, type TestKey } from '../testing/keys.js';
import { alternate, onBoth } from '../testing/nodes.js';
import { createAdmission } from './admission.js';
import { createConsoleAdmission } from './console-calls.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';

describe('command API: calls of the console, on two nodes', () => {
  const database = databaseFixture('consolecalls');
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;
  const consoles = fixture(() =>
    onBoth(nodes, ({ pool, clock }) =>
      createConsoleAdmission(pool, createAdmission(pool, clock, defaultPlanTable)),
    ),
  );

  const call = async (
    keys: readonly TestKey[],
    count: number,
    options: { metered?: boolean; logUnavailable?: boolean } = {},
  ): Promise<Record<string, number>> => {
    const admitted = await alternate(consoles, count, ({ admit }, index) =>
      admit({ keyHash: keys[index % keys.length]?.hash ?? null, metered: true, ...options }),
    );
    return countOutcomes(admitted);
  };

  const setDay = (key: TestKey, calls: number, daysAgo = 0): Promise<unknown> =>
    database.pool.query(
      `INSERT INTO ledger.console_calls (root_id, day, calls)
       VALUES ($1, (now() AT TIME ZONE 'UTC')::date - $3::int, $2)`,
      [key.id, calls, daysAgo],
    );

  const freeCallsOf = async (key: TestKey): Promise<number | undefined> => {
    const { rows } = await database.pool.query<{ calls: number }>(
      'SELECT calls FROM ledger.console_calls WHERE root_id = $1',
      [key.id],
    );
    return rows[0]?.calls;
  };

  it('are free up to exactly 1,000 per day, and then count toward the month', async () => {
    const key = await newKey(node, 'PRO');
    expect(await call([key], 30)).to.deep.equal({ admitted: 30 });
    expect(await meterOf(node, key)).to.include({ window_calls: 30, month_calls: 0 });
    await database.pool.query('DELETE FROM ledger.console_calls');
    await setDay(key, 983);
    expect(await call([key], 30)).to.deep.equal({ admitted: 30 });
    expect(await meterOf(node, key)).to.include({ window_calls: 60, month_calls: 13 });
    expect(await freeCallsOf(key)).to.equal(1_000);
  });

  it('reserve the free calls of the day first, then calls of the month, exactly', async () => {
    const key = await newKey(node);
    await setDay(key, 900);
    await setMeter(node, key, `month_calls = 1950, month = ${thisMonth}`);
    const { id, account } = key;
    const caller = { id, rootId: id, name: 'test', plan: 'FREE', account, scopes: [] } as const;
    const reserved = await alternate(consoles, 20, ({ reserveCalls }) =>
      reserveCalls(caller, 9, key.hash),
    );
    expect(reserved.reduce((sum, { granted }) => sum + granted, 0)).to.equal(150);
    expect(await freeCallsOf(key)).to.equal(1_000);
    expect(await meterOf(node, key)).to.include({ window_calls: 0, month_calls: 2_000 });
  });

  it('of a root and its derived keys share the free calls', async () => {
    const root = await newKey(node, 'PRO');
    const derived = await derivedKey(node, root);
    await setDay(root, 990);
    expect(await call([root, derived], 30)).to.deep.equal({ admitted: 30 });
    expect((await meterOf(node, root)).month_calls).to.equal(20);
  });

  it('are free again on the next day, and not if the clock goes back to an earlier day', async () => {
    const key = await newKey(node, 'PRO');
    await setDay(key, 1_000, 1);
    await call([key], 4);
    expect((await meterOf(node, key)).month_calls).to.equal(0);
    expect(await freeCallsOf(key)).to.equal(4);
    const tomorrow = await newKey(node, 'PRO');
    await setDay(tomorrow, 1_000, -1);
    await call([tomorrow], 4);
    expect((await meterOf(node, tomorrow)).month_calls).to.equal(4);
  });

  it('are admitted while they are free, even if the month is exhausted', async () => {
    const key = await newKey(node);
    await setMeter(node, key, `month_calls = 2000, month = ${thisMonth}`);
    await setDay(key, 998);
    expect(await call([key], 6)).to.deep.equal({ admitted: 2, callsExhausted: 4 });
  });

  it('use no free call if they are refused or not metered', async () => {
    const key = await newKey(node);
    expect(await call([key], 5, { logUnavailable: true })).to.deep.equal({ logUnavailable: 5 });
    expect(await call([key], 5, { metered: false })).to.deep.equal({ admitted: 5 });
    expect(await freeCallsOf(key)).to.equal(0);
    expect(await call([key], 80)).to.deep.equal({ admitted: 55, rateLimited: 25 });
    expect(await freeCallsOf(key)).to.equal(55);
    const unknown = { ...key, hash: 'ab'.repeat(32) };
    expect(await call([unknown], 2)).to.deep.equal({ keyInvalid: 2 });
  });
});
