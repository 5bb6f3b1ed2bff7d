import { expect } from 'chai';
import { transaction, type Client } from '../../ops/platform/postgres/pool.js';
import { named, type TestNode } from '../../ops/test/support/node.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { admissionsOf, openCallsOf } from '../testing/admission.js';
import { meterOf, newKey, type TestKey } from '../testing/keys.js';
import { waitForLockWaits } from '../testing/nodes.js';
import { closeAllMinutes, closeMinutes } from './metering.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';

describe('command API: metering of calls, on two nodes', () => {
  const database = databaseFixture('metering');
  const nodes = twoLedgersFixture(database);
  const [node, otherNode] = nodes;

  const open = ({ id }: TestKey, minute: string, calls: number): Promise<unknown> =>
    node.pool.query('INSERT INTO ledger.usage_minutes VALUES ($1, $2, $3)', [id, minute, calls]);

  const close = ({ pool, outbox }: TestNode): Promise<number> => closeMinutes(pool, outbox);

  const lockMeter = (tx: Client, { id }: TestKey): Promise<unknown> =>
    tx.query('SELECT FROM ledger.key_meters WHERE key_id = $1 FOR UPDATE', [id]);

  const meteredOf = async ({ id }: TestKey): Promise<readonly EventNamed<'CallsMetered'>[]> =>
    named('CallsMetered', await node.events('usage')).filter(({ subject }) => subject === id);

  it('records one event for each past minute, in order, and leaves the current minute open', async () => {
    const key = await newKey(node);
    await open(key, '2026-05-20T12:01:00.000Z', 7);
    await open(key, '2026-05-20T12:00:00.000Z', 3);
    await node.pool.query(
      `INSERT INTO ledger.usage_minutes VALUES ($1, date_trunc('minute', clock_timestamp()) + interval '1 minute', 9)`,
      [key.id],
    );
    expect(await close(node)).to.equal(2);
    expect(await close(node)).to.equal(0);
    await open(key, '2026-05-20T12:01:00.000Z', 1);
    expect(await close(otherNode)).to.equal(1);
    const events = await meteredOf(key);
    expect(events.map(({ sequence, data }) => ({ sequence, ...data }))).to.deep.equal([
      { sequence: 1, minute: '2026-05-20T12:00:00.000Z', calls: 3 },
      { sequence: 2, minute: '2026-05-20T12:01:00.000Z', calls: 7 },
      { sequence: 3, minute: '2026-05-20T12:01:00.000Z', calls: 1 },
    ]);
    expect(events[0]).to.include({ account: key.account, actor: 'system' });
    expect(await openCallsOf(node, key)).to.equal(9);
  });

  it('skips keys with locked meters, without waiting', async () => {
    const [locked, free] = [await newKey(node), await newKey(node)];
    for (const key of [locked, free]) await open(key, '2026-05-20T12:00:00.000Z', 1);
    await transaction(node.pool, async (tx) => {
      await lockMeter(tx, locked);
      expect(await close(otherNode)).to.equal(1);
    });
    expect([await openCallsOf(node, locked), await openCallsOf(node, free)]).to.deep.equal([1, 0]);
    expect(await close(otherNode)).to.equal(1);
  });

  it('closes all minutes on request: also the current minute, and those of locked meters', async () => {
    const [locked, free] = [await newKey(node), await newKey(node)];
    const [admission] = admissionsOf(nodes);
    for (const { hash } of [locked, free]) await admission.admit({ keyHash: hash, metered: true });
    let closing: Promise<void> | undefined;
    await transaction(node.pool, async (tx) => {
      await lockMeter(tx, locked);
      closing = closeAllMinutes(otherNode.pool, otherNode.outbox);
      await waitForLockWaits(node);
      // Calls that are added before COMMIT are closed, too.
      const added = 'UPDATE ledger.usage_minutes SET calls = calls + 4 WHERE key_id = $1';
      await tx.query(added, [locked.id]);
    });
    await closing;
    expect([await openCallsOf(node, locked), await openCallsOf(node, free)]).to.deep.equal([0, 0]);
    const calls = async (key: TestKey) => (await meteredOf(key)).map(({ data }) => data.calls);
    expect([await calls(locked), await calls(free)]).to.deep.equal([[5], [1]]);
  });

  it('counts every call exactly once while calls are admitted and minutes pass', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(node, 'PRO')));
    const admissions = admissionsOf(nodes);
    const admitted = new Map(keys.map(({ id }) => [id, 0]));
    const end = performance.now() + 2_500;
    /** Of single minutes; others are closed together with all. */
    let closed = 0;
    const repeat = async (task: () => Promise<void>): Promise<void> => {
      while (performance.now() < end || closed <= keys.length) await task();
    };
    const admit = async (index: number): Promise<void> => {
      const key = keys[Math.floor(Math.random() * keys.length)];
      if (!key) throw new Error(`There are ${keys.length} keys`);
      const { admission } = await admissions[index % 2 === 0 ? 0 : 1].admit({
        keyHash: key.hash,
        metered: true,
      });
      if (admission.type === 'admitted') admitted.set(key.id, (admitted.get(key.id) ?? 0) + 1);
    };
    // Moves the current minutes into the past, each time into another minute.
    let minutes = 0;
    const endMinutes = async (): Promise<void> => {
      for (const key of keys) {
        minutes += 1;
        await transaction(node.pool, async (tx) => {
          await lockMeter(tx, key);
          await tx.query(
            `UPDATE ledger.usage_minutes SET minute = minute - $2 * interval '1 minute'
             WHERE key_id = $1 AND minute >= date_trunc('minute', clock_timestamp())`,
            [key.id, 10 * minutes],
          );
        });
      }
    };
    await Promise.all([
      ...Array.from({ length: 30 }, (_, index) => repeat(() => admit(index))),
      repeat(endMinutes),
      ...nodes.map((closing) =>
        repeat(async () => {
          const count = await close(closing);
          closed += count;
        }),
      ),
      repeat(() => closeAllMinutes(otherNode.pool, otherNode.outbox)),
    ]);

    for (const key of keys) {
      const events = await meteredOf(key);
      const metered = events.reduce((sum, { data }) => sum + data.calls, 0);
      const used = admitted.get(key.id);
      expect(metered + ((await openCallsOf(node, key)) ?? 0)).to.equal(used);
      expect((await meterOf(node, key)).month_calls).to.equal(used);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal(
        events.map((_, index) => index + 1),
      );
      const times = events.map(({ time }) => time);
      expect(times).to.deep.equal([...times].sort());
    }
  });
});
