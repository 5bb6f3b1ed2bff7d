import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import { createPool, transaction } from '../../ops/platform/postgres/pool.js';
import { defaultPlanTable } from '../../schemas/plans.js';
import { hashKeyToken } from '../keys/key-token.js';
import { admissionsOf, callOf, countOutcomes, openCallsOf } from '../testing/admission.js';
import {
  actor,
  derivedKey,
  meterOf,
  newKey,
  setMeter,
  thisMonth,
  type TestKey,
} from '../testing/keys.js';
import { alternate, waitForLockWaits } from '../testing/nodes.js';
import { createAdmission } from './admission.js';
import type { Admitted, CallingKey } from './command.js';
import { createApiKeyHandler } from '../keys/handler.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';
import { eventuallyPasses } from '../../ops/test/support/waiting.js';
import { fixture } from '../../ops/test/support/fixture.js';

const logger = createLogger('silent');

/** The first day of a month, UTC. @param months from the current month */
const monthFromNow = (months: number): string => {
  const now = new Date();
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1);
  return new Date(first).toISOString().slice(0, 10);
};

const lastMonth = `date_trunc('month', now() AT TIME ZONE 'UTC' - interval '1 month')`;

const isAdmitted = ({ admission }: Admitted): boolean => admission.type === 'admitted';

describe('command API: admission, on two nodes', () => {
  const database = databaseFixture('admission');
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;
  const keys = fixture(() => createApiKeyHandler(node.pool, node.outbox));
  let admissions: ReturnType<typeof admissionsOf>;

  // Refusals are cached.
  beforeEach(() => {
    admissions = admissionsOf(nodes);
  });

  const call = (
    { hash }: TestKey,
    count: number,
    metered: (index: number) => boolean = () => true,
  ): Promise<readonly Admitted[]> =>
    alternate(admissions, count, (admission, index) =>
      admission.admit({ keyHash: hash, metered: metered(index) }),
    );

  const outcomesOf = async (...args: Parameters<typeof call>) => countOutcomes(await call(...args));

  const callingKeyOf = async (key: TestKey): Promise<CallingKey> => {
    const [admitted] = (await call(key, 1)).map(callOf);
    if (!admitted) throw new Error('admit() returned no outcome');
    return admitted.key;
  };

  const changeKey = ({ id }: TestKey, data: { active: boolean } | { plan: 'FREE' | 'INDIE' }) =>
    keys.handle(id, { type: 'ChangeApiKey', data }, actor);

  /** Expects that each admitted call got another number of remaining calls, from `limit - 1` down to 0. */
  const expectDistinctRemaining = (admitted: readonly Admitted[]): void => {
    const remaining = admitted.map((outcome) => callOf(outcome).window.remaining);
    expect(remaining.sort((a, b) => a - b)).to.deep.equal(remaining.map((_, index) => index));
  };

  it('locks the keys of a group in the order of their IDs, as key changes do', async () => {
    const [first, second] = [await newKey(node), await newKey(node)];
    // Now a sequential scan returns the second key first.
    await node.pool.query('UPDATE ledger.api_keys SET name = name WHERE id = $1', [first.id]);
    const url = new URL(database.url);
    url.searchParams.set('options', '-c enable_indexscan=off -c enable_bitmapscan=off');
    const pool = createPool({ url: url.href, name: 'scans', max: 1, logger });
    const admission = createAdmission(pool, node.clock, defaultPlanTable);
    const lock = 'SELECT FROM ledger.api_keys WHERE id = $1 FOR NO KEY UPDATE NOWAIT';
    let admitted: Promise<readonly Admitted[]> | undefined;
    await transaction(node.pool, async (tx) => {
      await tx.query(lock, [first.id]);
      admitted = Promise.all(
        [first, second].map(({ hash }) => admission.admit({ keyHash: hash, metered: true })),
      );
      await waitForLockWaits(node);
      await tx.query(lock, [second.id]);
    });
    expect(countOutcomes((await admitted) ?? [])).to.deep.equal({ admitted: 2 });
    await pool.end();
  });

  it('counts the calls of several keys in a group separately', async () => {
    const callers = await Promise.all([newKey(node), newKey(node), newKey(node, 'HOBBY')]);
    const results = await Promise.all(callers.map((key) => call(key, 200)));
    const free = { admitted: 60, rateLimited: 140 };
    expect(results.map(countOutcomes)).to.deep.equal([free, free, { admitted: 200 }]);
    expect(results.map(([first]) => first && callOf(first).key.id)).to.deep.equal(
      callers.map(({ id }) => id),
    );
  });

  it('counts the calls of a root and its derived keys together, exactly', async () => {
    const root = await newKey(node);
    const child = await derivedKey(node, root);
    const grandchild = await derivedKey(nodes[1], child);
    const chain = [root, child, grandchild];
    const results = await Promise.all(chain.map((key) => call(key, 50)));
    expect(countOutcomes(results.flat())).to.deep.equal({ admitted: 60, rateLimited: 90 });
    for (const [index, { id }] of chain.entries()) {
      const [first] = results[index] ?? [];
      expect(first && callOf(first).key).to.deep.include({ id, rootId: root.id, plan: 'FREE' });
    }
    expectDistinctRemaining(results.flat().filter(isAdmitted));
    expect(await meterOf(node, root)).to.include({ window_calls: 60, month_calls: 60 });
    expect(await openCallsOf(node, root)).to.equal(60);
    expect(await openCallsOf(node, child)).to.equal(0);
  });

  it('admits a derived key only while it and its root are active and not expired', async () => {
    const root = await newKey(node);
    const child = await derivedKey(node, root);
    const grandchild = await derivedKey(node, child);
    const expectValid = async (...expected: readonly [child: boolean, grandchild: boolean]) => {
      const outcomes = [await outcomesOf(child, 2), await outcomesOf(grandchild, 2)];
      const valid = expected.map((isValid) => (isValid ? { admitted: 2 } : { keyInvalid: 2 }));
      expect(outcomes).to.deep.equal(valid);
    };
    const expire = (key: TestKey, time: string) =>
      node.pool.query(`UPDATE ledger.api_keys SET expires_at = ${time} WHERE id = $1`, [key.id]);
    await expectValid(true, true);
    await changeKey(child, { active: false });
    await expectValid(false, true);
    await changeKey(child, { active: true });
    await changeKey(root, { active: false });
    await expectValid(false, false);
    await changeKey(root, { active: true });
    await expire(child, `clock_timestamp() - interval '1 millisecond'`);
    await expectValid(false, true);
    await expire(child, `clock_timestamp() + interval '1 minute'`);
    await expectValid(true, true);
    await expire(root, 'clock_timestamp()');
    await expectValid(false, false);
    // Refused calls cost nothing.
    expect(await meterOf(node, root)).to.include({ window_calls: 12 });
  });

  it('accepts each secret of a key until its end, with one limit for all', async () => {
    const key = await newKey(node);
    const caller = { id: key.id, account: key.account, requestId: 'request-1' };
    const rotate = async (overlap: number): Promise<TestKey> => {
      const { token } = await keys.rotate(caller, key.id, overlap);
      return { ...key, hash: hashKeyToken(token) };
    };
    const second = await rotate(60);
    const results = await Promise.all([call(key, 50), call(second, 50)]);
    expect(countOutcomes(results.flat())).to.deep.equal({ admitted: 60, rateLimited: 40 });
    admissions = admissionsOf(nodes);
    await setMeter(node, key, 'window_calls = 0');
    await node.pool.query(
      `UPDATE ledger.key_secrets SET ends_at = clock_timestamp() WHERE ends_at IS NOT NULL`,
    );
    expect(await outcomesOf(key, 2)).to.deep.equal({ keyInvalid: 2 });
    const third = await rotate(0);
    expect(await outcomesOf(second, 2)).to.deep.equal({ keyInvalid: 2 });
    expect(await outcomesOf(third, 2)).to.deep.equal({ admitted: 2 });
  });

  it('stores the minute of a key’s last call, with one write per minute', async () => {
    const key = await newKey(node);
    const child = await derivedKey(node, key);
    const lastUse = async ({ id }: TestKey) => {
      const { rows } = await node.pool.query<{ at: Date | null; version: string }>(
        'SELECT last_used_at AS at, xmin AS version FROM ledger.api_keys WHERE id = $1',
        [id],
      );
      return rows[0];
    };
    await call(child, 1);
    expect((await lastUse(key))?.at).to.equal(null);
    const first = await lastUse(child);
    expect(first?.at?.getTime()).to.be.closeTo(Date.now(), 61_000);
    expect((first?.at?.getTime() ?? 1) % 60_000).to.equal(0);
    for (let round = 0; round < 5; round += 1) await call(child, 3);
    const later = await lastUse(child);
    // Unless a new minute has started.
    if (later?.at?.getTime() === first?.at?.getTime()) expect(later).to.deep.equal(first);
  });

  it('starts the next window with the first call after the end of the last one', async () => {
    const key = await newKey(node);
    await setMeter(node, key, 'window_calls = 50, window_start = clock_timestamp()');
    const before = await call(key, 20);
    expect(countOutcomes(before)).to.deep.equal({ admitted: 10, rateLimited: 10 });
    await setMeter(node, key, `window_start = window_start - interval '60 seconds'`);
    // Without cached refusals, the ledger decides each call.
    admissions = admissionsOf(nodes);
    const after = await call(key, 100);
    expect(countOutcomes(after)).to.deep.equal({ admitted: 60, rateLimited: 40 });
    const ends = after.map((result) => callOf(result).window.resetAt.getTime());
    expect(new Set(ends).size).to.equal(1);
  });

  it('refuses from memory while a window is full, and no longer', async () => {
    const key = await newKey(node);
    const start = `clock_timestamp() - interval '56 seconds'`;
    await setMeter(node, key, `window_calls = 60, window_start = ${start}`);
    expect(await outcomesOf(key, 10)).to.deep.equal({ rateLimited: 10 });
    // The ledger would admit the call now.
    await setMeter(node, key, 'window_calls = 0');
    expect(await outcomesOf(key, 10)).to.deep.equal({ rateLimited: 10 });
    await eventuallyPasses(async () => {
      expect(await outcomesOf(key, 10)).to.deep.equal({ admitted: 10 });
    });
  });

  it('admits exactly the remaining calls of the month, and every unmetered call', async () => {
    const key = await newKey(node);
    await setMeter(node, key, `month_calls = 1995, month = ${thisMonth}`);
    const results = await call(key, 40);
    expect(countOutcomes(results)).to.deep.equal({ admitted: 5, callsExhausted: 35 });
    for (const { usage } of results.map(callOf)) {
      expect(usage.calls).to.be.within(1_995, 2_000);
      expect(usage.resetDate).to.equal(monthFromNow(1));
    }
    // Refused calls do not count toward the minute.
    expect(await meterOf(node, key)).to.include({ window_calls: 5, month_calls: 2_000 });
    expect(await outcomesOf(key, 10, () => false)).to.deep.equal({ admitted: 10 });
    expect(await openCallsOf(node, key)).to.equal(5);
  });

  it('reserves exactly the remaining calls of the month, and none of the minute', async () => {
    const root = await newKey(node);
    const child = await derivedKey(node, root);
    const callingKey = await callingKeyOf(child);
    await setMeter(node, root, 'month_calls = 1700');
    const [reserved, { admitted = 0 }] = await Promise.all([
      alternate(admissions, 40, ({ reserveCalls }) => reserveCalls(callingKey, 9, child.hash)),
      outcomesOf(root, 30),
    ]);
    expect(reserved.reduce((sum, { granted }) => sum + granted, admitted)).to.equal(300);
    for (const { resetDate } of reserved) expect(resetDate).to.equal(monthFromNow(1));
    expect(await meterOf(node, root)).to.include({
      window_calls: 1 + admitted,
      month_calls: 2_000,
    });
    expect(await openCallsOf(node, root)).to.equal(301);
    expect(await admissions[0].reserveCalls(callingKey, 1, child.hash)).to.include({ granted: 0 });
    expect(await openCallsOf(node, root)).to.equal(301);
  });

  it('reserves calls of a new month', async () => {
    const key = await newKey(node);
    const callingKey = await callingKeyOf(key);
    await setMeter(node, key, `month_calls = 2000, month_links = 3, month = ${lastMonth}`);
    const reserved = await admissions[0].reserveCalls(callingKey, 99, key.hash);
    expect(reserved).to.deep.equal({ granted: 99, resetDate: monthFromNow(1) });
    const meter = { month_calls: 99, month_links: 0 };
    expect(await meterOf(node, key)).to.include({ month: monthFromNow(0), ...meter });
  });

  it('admits and reserves any number of calls of a plan without a monthly limit', async () => {
    const key = await newKey(node);
    const { plans, gates } = defaultPlanTable;
    const unlimited = { ...plans, FREE: { ...plans.FREE, monthlyCalls: null } };
    admissions = admissionsOf(nodes, { plans: unlimited, gates });
    await setMeter(node, key, `month_calls = 1e12, month = ${thisMonth}`);
    const callingKey = await callingKeyOf(key);
    expect(await outcomesOf(key, 9)).to.deep.equal({ admitted: 9 });
    expect(await admissions[0].reserveCalls(callingKey, 5, key.hash)).to.include({ granted: 5 });
    expect(await meterOf(node, key)).to.include({ month_calls: 1e12 + 15 });
  });

  it('refuses revoked and unknown keys, on every node from the moment of the change', async () => {
    const key = await newKey(node);
    expect(await outcomesOf(key, 2)).to.deep.equal({ admitted: 2 });
    await keys.handle(key.id, { type: 'RevokeApiKey', data: {} }, actor);
    expect(await outcomesOf(key, 2)).to.deep.equal({ keyInvalid: 2 });

    for (const keyHash of [null, 'ab'.repeat(32)]) {
      const { admission, platform } = await admissions[0].admit({ keyHash, metered: true });
      expect(admission).to.deep.equal({ type: 'keyInvalid' });
      expect(platform).to.include({ maintenance: false, shortening: true });
    }
  });

  it('admits and counts no call during maintenance', async () => {
    const key = await newKey(node);
    await node.pool.query('UPDATE ledger.platform SET maintenance = true');
    try {
      expect(await outcomesOf(key, 10)).to.deep.equal({ maintenance: 10 });
      const { admission } = await admissions[0].admit({ keyHash: null, metered: true });
      expect(admission).to.deep.equal({ type: 'maintenance', call: null });
    } finally {
      await node.pool.query('UPDATE ledger.platform SET maintenance = false');
    }
    expect(await meterOf(node, key)).to.include({ window_calls: 0, month_calls: 0 });
    expect(await openCallsOf(node, key)).to.equal(0);
  });
});
