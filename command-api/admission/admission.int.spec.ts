import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../ops/test/support/waiting.js';
import { createLogger } from '../../ops/platform/logging.js';
import { createPool, transaction } from '../../ops/platform/postgres/pool.js';
import { defaultPlanTable, type PlanTable } from '../../schemas/plans.js';
import { hashKeyToken } from '../keys/key-token.js';
import { actor, derivedKey, meterOf, newKey, setMeter, type TestKey } from '../testing/keys.js';
import { createAdmission, type Admission, type Admitted } from './admission.js';
import { createApiKeyHandler } from '../keys/handler.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');

/** The first day of the month that begins so many months from this one, UTC. */
const monthFromNow = (months: number): string => {
  const now = new Date();
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1);
  return new Date(first).toISOString().slice(0, 10);
};

const lastMonth = `date_trunc('month', now() AT TIME ZONE 'UTC' - interval '1 month')`;

describe('command API: admission, on two nodes', () => {
  const database = databaseFixture('admission');
  const nodes = twoLedgersFixture(database);
  let admissions: readonly [Admission, Admission];

  const newAdmissions = (table: PlanTable = defaultPlanTable) =>
    nodes.map(({ pool, clock }) => createAdmission(pool, clock, table)) as [Admission, Admission];

  // What an admission remembers of a full window is no business of the next test.
  beforeEach(() => {
    admissions = newAdmissions();
  });

  /** Calls by turns on the two nodes, all at once. */
  const call = (
    key: TestKey,
    count: number,
    metered: (index: number) => boolean = () => true,
  ): Promise<readonly Admitted[]> =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        admissions[index % 2 === 0 ? 0 : 1].admit({ keyHash: key.hash, metered: metered(index) }),
      ),
    );

  const types = (results: readonly Admitted[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { admission } of results) {
      counts[admission.type] = (counts[admission.type] ?? 0) + 1;
    }
    return counts;
  };

  const callOf = ({ admission }: Admitted) => {
    if (admission.type === 'keyInvalid' || !admission.call) throw new Error('No call');
    return admission.call;
  };

  const openMinutes = async ({ id }: TestKey): Promise<number> => {
    const { rows } = await nodes[0].pool.query<{ calls: number }>(
      `SELECT coalesce(sum(calls), 0)::bigint AS calls FROM ledger.usage_minutes WHERE key_id = $1`,
      [id],
    );
    return rows[0]?.calls ?? -1;
  };

  it('lets exactly 60 of 200 calls pass in a minute', async () => {
    const key = await newKey(nodes[0]);
    const results = await call(key, 200);
    expect(types(results)).to.deep.equal({ admitted: 60, rateLimited: 140 });
    const admitted = results.filter(({ admission }) => admission.type === 'admitted').map(callOf);
    const remaining = admitted.map(({ window }) => window.remaining);
    expect(remaining.sort((a, b) => a - b)).to.deep.equal(remaining.map((_, index) => index));
    const used = admitted.map(({ usage }) => usage.calls);
    expect(used.sort((a, b) => a - b)).to.deep.equal(used.map((_, index) => index + 1));
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 60, month_calls: 60 });
    expect(await openMinutes(key)).to.equal(60);
  });

  it('locks the keys of a group in the order of their ids, as key changes do', async () => {
    const [node] = nodes;
    const [first, second] = [await newKey(node), await newKey(node)];
    // A scan of the table finds the first key's row after the second one's, and a small table is scanned.
    await node.pool.query('UPDATE ledger.api_keys SET name = name WHERE id = $1', [first.id]);
    const scans = new URL(database.url);
    scans.searchParams.set('options', '-c enable_indexscan=off -c enable_bitmapscan=off');
    const pool = createPool({ url: scans.href, name: 'scans', max: 1, logger });
    const admission = createAdmission(pool, node.clock, defaultPlanTable);
    const lock = 'SELECT FROM ledger.api_keys WHERE id = $1 FOR NO KEY UPDATE NOWAIT';
    let admitted: Promise<readonly Admitted[]> | undefined;
    await transaction(node.pool, async (tx) => {
      await tx.query(lock, [first.id]);
      admitted = Promise.all(
        [first, second].map(({ hash }) => admission.admit({ keyHash: hash, metered: true })),
      );
      await eventually('the group waits for the first key', async () => {
        const { rows } = await node.pool.query(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      await tx.query(lock, [second.id]);
    });
    expect(types((await admitted) ?? [])).to.deep.equal({ admitted: 2 });
    await pool.end();
  });

  it('counts calls that are not metered for the minute, and not for the month', async () => {
    const key = await newKey(nodes[0]);
    const results = await call(key, 200, (index) => index % 3 === 0);
    expect(types(results)).to.deep.equal({ admitted: 60, rateLimited: 140 });
    const metered = results.filter(
      ({ admission }, index) => admission.type === 'admitted' && index % 3 === 0,
    ).length;
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 60, month_calls: metered });
    expect(await openMinutes(key)).to.equal(metered);
  });

  it('keeps keys apart that call in one group', async () => {
    const keys = await Promise.all([newKey(nodes[0]), newKey(nodes[0]), newKey(nodes[0], 'HOBBY')]);
    const all = await Promise.all(keys.map((key) => call(key, 200)));
    expect(all.map(types)).to.deep.equal([
      { admitted: 60, rateLimited: 140 },
      { admitted: 60, rateLimited: 140 },
      { admitted: 200 },
    ]);
    expect(all.map(([first]) => first && callOf(first).key.id)).to.deep.equal(
      keys.map(({ id }) => id),
    );
  });

  it('lets a root and all that descend from it pass as one key, exactly', async () => {
    const root = await newKey(nodes[0]);
    const child = await derivedKey(nodes[0], root);
    const grandchild = await derivedKey(nodes[1], child);
    const all = await Promise.all([root, child, grandchild].map((key) => call(key, 50)));
    expect(types(all.flat())).to.deep.equal({ admitted: 60, rateLimited: 90 });
    for (const [index, { id }] of [root, child, grandchild].entries()) {
      const [first] = all[index] ?? [];
      expect(first && callOf(first).key).to.deep.include({ id, rootId: root.id, plan: 'FREE' });
    }
    const admitted = all.flat().filter(({ admission }) => admission.type === 'admitted');
    const remaining = admitted.map((each) => callOf(each).window.remaining);
    expect(remaining.sort((a, b) => a - b)).to.deep.equal(remaining.map((_, index) => index));
    expect(await meterOf(nodes[0], root)).to.include({ window_calls: 60, month_calls: 60 });
    expect(await openMinutes(root)).to.equal(60);
    expect(await openMinutes(child)).to.equal(0);
  });

  it('lets exactly what is left of the root’s month pass to all of them', async () => {
    const root = await newKey(nodes[0]);
    const children = [await derivedKey(nodes[0], root), await derivedKey(nodes[1], root)];
    await setMeter(
      nodes[0],
      root,
      `month_calls = 1993, month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
    );
    const all = await Promise.all(children.map((key) => call(key, 20)));
    expect(types(all.flat())).to.deep.equal({ admitted: 7, callsExhausted: 33 });
    expect(await meterOf(nodes[0], root)).to.include({ window_calls: 7, month_calls: 2_000 });
  });

  it('knows a derived key only while it, and its root, are active and not over', async () => {
    const root = await newKey(nodes[0]);
    const child = await derivedKey(nodes[0], root);
    const grandchild = await derivedKey(nodes[0], child);
    const keys = createApiKeyHandler(nodes[0].pool, nodes[0].outbox);
    const both = async () => ({
      child: types(await call(child, 2)),
      grandchild: types(await call(grandchild, 2)),
    });
    const good = { admitted: 2 };
    const bad = { keyInvalid: 2 };
    const change = (key: TestKey, active: boolean) =>
      keys.handle(key.id, { type: 'ChangeApiKey', data: { active } }, actor);
    expect(await both()).to.deep.equal({ child: good, grandchild: good });
    await change(child, false);
    expect(await both()).to.deep.equal({ child: bad, grandchild: good });
    await change(child, true);
    await change(root, false);
    expect(await both()).to.deep.equal({ child: bad, grandchild: bad });
    await change(root, true);
    const { pool } = nodes[0];
    const ends = (key: TestKey, end: string) =>
      pool.query(`UPDATE ledger.api_keys SET expires_at = ${end} WHERE id = $1`, [key.id]);
    await ends(child, `clock_timestamp() - interval '1 millisecond'`);
    expect(await both()).to.deep.equal({ child: bad, grandchild: good });
    await ends(child, `clock_timestamp() + interval '1 minute'`);
    expect(await both()).to.deep.equal({ child: good, grandchild: good });
    await ends(root, 'clock_timestamp()');
    expect(await both()).to.deep.equal({ child: bad, grandchild: bad });
    // What nobody let in has cost nothing, and is no use.
    expect(await meterOf(nodes[0], root)).to.include({ window_calls: 12 });
  });

  it('takes each secret until its end, and all of them as one key', async () => {
    const key = await newKey(nodes[0]);
    const keys = createApiKeyHandler(nodes[0].pool, nodes[0].outbox);
    const asking = { id: key.id, account: key.account, requestId: 'request-1' };
    const rotate = async (overlap: number): Promise<TestKey> => {
      const { token } = await keys.rotate(asking, key.id, overlap);
      return { ...key, hash: hashKeyToken(token) };
    };
    const second = await rotate(60);
    const results = await Promise.all([call(key, 50), call(second, 50)]);
    expect(types(results.flat())).to.deep.equal({ admitted: 60, rateLimited: 40 });
    admissions = newAdmissions();
    await setMeter(nodes[0], key, 'window_calls = 0');
    await nodes[0].pool.query(
      `UPDATE ledger.key_secrets SET ends_at = clock_timestamp() WHERE ends_at IS NOT NULL`,
    );
    expect(types(await call(key, 2))).to.deep.equal({ keyInvalid: 2 });
    const third = await rotate(0);
    expect(types(await call(second, 2))).to.deep.equal({ keyInvalid: 2 });
    expect(types(await call(third, 2))).to.deep.equal({ admitted: 2 });
  });

  it('notes the minute of a key’s last call, with one write a minute', async () => {
    const key = await newKey(nodes[0]);
    const child = await derivedKey(nodes[0], key);
    const lastUse = async ({ id }: TestKey) => {
      const { rows } = await nodes[0].pool.query<{ at: Date | null; version: string }>(
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
    // Unless the minute ended meanwhile.
    if (later?.at?.getTime() === first?.at?.getTime()) expect(later).to.deep.equal(first);
  });

  it('opens the next window with the first call after the last one’s end, never sooner', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(
      nodes[0],
      key,
      `window_calls = 50, window_start = clock_timestamp() - interval '59.8 seconds'`,
    );
    const results: Admitted[] = [];
    const end = performance.now() + 700;
    while (performance.now() < end) {
      // New admissions remember no refusal: every call asks the ledger.
      admissions = newAdmissions();
      results.push(...(await call(key, 20)));
    }
    const windows = new Map<number, number>();
    for (const result of results) {
      const { window } = callOf(result);
      const resetAt = window.resetAt.getTime();
      const passed = result.admission.type === 'admitted' ? 1 : 0;
      windows.set(resetAt, (windows.get(resetAt) ?? 0) + passed);
    }
    const [old, opened, ...more] = [...windows.entries()].sort(([a], [b]) => a - b);
    expect(old?.[1]).to.equal(10);
    expect(opened?.[1]).to.equal(60);
    expect(more).to.deep.equal([]);
    expect((opened?.[0] ?? 0) - (old?.[0] ?? 0)).to.be.at.least(60_000);
  });

  it('refuses from memory while a window is full, and not a moment longer than it is', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(
      nodes[0],
      key,
      `window_calls = 60, window_start = clock_timestamp() - interval '59.8 seconds'`,
    );
    expect(types(await call(key, 10))).to.deep.equal({ rateLimited: 10 });
    await setMeter(nodes[0], key, 'window_calls = 0');
    // The ledger would let it pass: that it is refused shows that nobody asked.
    expect(types(await call(key, 10))).to.deep.equal({ rateLimited: 10 });
    await sleep(250);
    expect(types(await call(key, 10))).to.deep.equal({ admitted: 10 });
  });

  it('lets exactly what is left of the month pass; what is not metered always', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(
      nodes[0],
      key,
      `month_calls = 1995, month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
    );
    const results = await call(key, 40);
    expect(types(results)).to.deep.equal({ admitted: 5, callsExhausted: 35 });
    for (const { usage } of results.map(callOf)) {
      expect(usage.calls).to.be.within(1_995, 2_000);
      expect(usage.resetDate).to.equal(monthFromNow(1));
    }
    // What was refused has cost nothing, so the minute has room.
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 5, month_calls: 2_000 });
    expect(types(await call(key, 10, () => false))).to.deep.equal({ admitted: 10 });
    expect(await openMinutes(key)).to.equal(5);
  });

  it('takes further calls of the month, exactly what is left, and none of the minute', async () => {
    const root = await newKey(nodes[0]);
    const child = await derivedKey(nodes[0], root);
    const calling = (await call(child, 1)).map(callOf)[0]?.key;
    if (!calling) throw new Error('The call was admitted');
    await setMeter(nodes[0], root, 'month_calls = 1700');
    const [taken, calls] = await Promise.all([
      Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          admissions[index % 2 === 0 ? 0 : 1].reserveCalls(calling, 9, child.hash),
        ),
      ),
      call(root, 30),
    ]);
    const granted = taken.reduce((sum, one) => sum + one.granted, 0);
    expect(granted + (types(calls)['admitted'] ?? 0)).to.equal(300);
    for (const { resetDate } of taken) expect(resetDate).to.equal(monthFromNow(1));
    expect(await meterOf(nodes[0], root)).to.include({
      window_calls: 1 + (types(calls)['admitted'] ?? 0),
      month_calls: 2_000,
    });
    expect(await openMinutes(root)).to.equal(301);
    expect(await admissions[0].reserveCalls(calling, 1, child.hash)).to.include({ granted: 0 });
    expect(await openMinutes(root)).to.equal(301);
  });

  it('takes further calls of a month that has just begun', async () => {
    const key = await newKey(nodes[0]);
    const calling = (await call(key, 1)).map(callOf)[0]?.key;
    if (!calling) throw new Error('The call was admitted');
    await setMeter(nodes[0], key, `month_calls = 2000, month_links = 3, month = ${lastMonth}`);
    expect(await admissions[0].reserveCalls(calling, 99, key.hash)).to.deep.equal({
      granted: 99,
      resetDate: monthFromNow(1),
    });
    expect(await meterOf(nodes[0], key)).to.include({
      month: monthFromNow(0),
      month_calls: 99,
      month_links: 0,
    });
  });

  it('knows plans without a monthly limit', async () => {
    const key = await newKey(nodes[0]);
    const { plans, gates } = defaultPlanTable;
    admissions = newAdmissions({
      plans: { ...plans, FREE: { ...plans.FREE, monthlyCalls: null } },
      gates,
    });
    await setMeter(
      nodes[0],
      key,
      `month_calls = 1e12, month = date_trunc('month', now() AT TIME ZONE 'UTC')`,
    );
    const calls = await call(key, 10);
    expect(types(calls)).to.deep.equal({ admitted: 10 });
    const [calling] = calls.map(callOf);
    if (!calling) throw new Error('The call was admitted');
    expect(await admissions[0].reserveCalls(calling.key, 5, key.hash)).to.include({ granted: 5 });
    expect(await meterOf(nodes[0], key)).to.include({ month_calls: 1e12 + 15 });
  });

  it('begins every month with nothing spent', async () => {
    const key = await newKey(nodes[0]);
    const spent = `month_calls = 2000, month_links = 35, month_qr_codes = 35`;
    await setMeter(nodes[0], key, `${spent}, month = ${lastMonth}`);
    const [first] = await call(key, 1);
    expect(first && callOf(first).usage).to.deep.equal({
      calls: 1,
      links: 0,
      qrCodes: 0,
      resetDate: monthFromNow(1),
    });
    expect(await meterOf(nodes[0], key)).to.deep.equal({
      window_calls: 1,
      month: monthFromNow(0),
      month_calls: 1,
      month_links: 0,
      month_qr_codes: 0,
    });
  });

  it('knows no key but active ones, from the moment of the change on, on every node', async () => {
    const key = await newKey(nodes[0]);
    const keys = createApiKeyHandler(nodes[0].pool, nodes[0].outbox);
    const change = (active: boolean) =>
      keys.handle(key.id, { type: 'ChangeApiKey', data: { active } }, actor);
    const both = async () => types(await call(key, 2));
    expect(await both()).to.deep.equal({ admitted: 2 });
    await change(false);
    expect(await both()).to.deep.equal({ keyInvalid: 2 });
    await change(true);
    expect(await both()).to.deep.equal({ admitted: 2 });
    await keys.handle(key.id, { type: 'RevokeApiKey', data: {} }, actor);
    expect(await both()).to.deep.equal({ keyInvalid: 2 });

    const strangers = [null, 'ab'.repeat(32)];
    for (const keyHash of strangers) {
      const { admission, platform } = await admissions[0].admit({ keyHash, metered: true });
      expect(admission).to.deep.equal({ type: 'keyInvalid' });
      expect(platform).to.include({ maintenance: false, shortening: true });
    }
  });

  it('goes by a plan from the moment of its change on', async () => {
    const key = await newKey(nodes[0], 'HOBBY');
    expect(types(await call(key, 100))).to.deep.equal({ admitted: 100 });
    const keys = createApiKeyHandler(nodes[0].pool, nodes[0].outbox);
    await keys.handle(key.id, { type: 'ChangeApiKey', data: { plan: 'FREE' } }, actor);
    const lowered = await call(key, 10);
    expect(types(lowered)).to.deep.equal({ rateLimited: 10 });
    expect(lowered.map((result) => callOf(result).window.remaining)).to.include.members([0]);
    admissions = newAdmissions();
    await keys.handle(key.id, { type: 'ChangeApiKey', data: { plan: 'INDIE' } }, actor);
    expect(types(await call(key, 300))).to.deep.equal({ admitted: 300 });
  });

  it('lets nothing pass during maintenance, and counts nothing', async () => {
    const key = await newKey(nodes[0]);
    await nodes[0].pool.query('UPDATE ledger.platform SET maintenance = true');
    try {
      const results = await call(key, 10);
      expect(types(results)).to.deep.equal({ maintenance: 10 });
      expect(results.map((result) => callOf(result).window.remaining)).to.include.members([60]);
      const stranger = await admissions[0].admit({ keyHash: null, metered: true });
      expect(stranger.admission).to.deep.equal({ type: 'maintenance', call: null });
    } finally {
      await nodes[0].pool.query('UPDATE ledger.platform SET maintenance = false');
    }
    expect(await meterOf(nodes[0], key)).to.include({ window_calls: 0, month_calls: 0 });
    expect(await openMinutes(key)).to.equal(0);
  });
});
