import { expect } from 'chai';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { named, type TestNode } from '../../ops/test/support/node.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { defaultPlanTable } from '../../schemas/plans.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { meterOf, newKey, type TestKey } from '../testing/keys.js';
import { createAdmission } from './admission.js';
import { closeAllMinutes, closeMinutes } from './metering.js';
import { databaseFixture, twoLedgersFixture } from '../../ops/test/support/fixtures.js';

describe('command API: metering of calls, on two nodes', () => {
  const database = databaseFixture('metering');
  const nodes = twoLedgersFixture(database);

  const open = async ({ id }: TestKey, minute: string, calls: number): Promise<void> => {
    await nodes[0].pool.query('INSERT INTO ledger.usage_minutes VALUES ($1, $2, $3)', [
      id,
      minute,
      calls,
    ]);
  };

  const openCalls = async ({ id }: TestKey): Promise<number> => {
    const { rows } = await nodes[0].pool.query<{ calls: number }>(
      `SELECT coalesce(sum(calls), 0)::bigint AS calls FROM ledger.usage_minutes WHERE key_id = $1`,
      [id],
    );
    return rows[0]?.calls ?? -1;
  };

  const meteredOf = async ({ id }: TestKey): Promise<readonly EventNamed<'CallsMetered'>[]> =>
    named('CallsMetered', await nodes[0].events('usage')).filter(({ subject }) => subject === id);

  it('turns each past minute into one event, in order, and leaves the open one', async () => {
    const key = await newKey(nodes[0]);
    await open(key, '2026-05-20T12:01:00.000Z', 7);
    await open(key, '2026-05-20T12:00:00.000Z', 3);
    await nodes[0].pool.query(
      `INSERT INTO ledger.usage_minutes VALUES ($1, date_trunc('minute', clock_timestamp()) + interval '1 minute', 9)`,
      [key.id],
    );
    expect(await closeMinutes(nodes[0].pool, nodes[0].outbox)).to.equal(2);
    expect(await closeMinutes(nodes[0].pool, nodes[0].outbox)).to.equal(0);
    await open(key, '2026-05-20T12:01:00.000Z', 1);
    expect(await closeMinutes(nodes[1].pool, nodes[1].outbox)).to.equal(1);
    const events = await meteredOf(key);
    expect(events.map(({ sequence, data }) => ({ sequence, ...data }))).to.deep.equal([
      { sequence: 1, minute: '2026-05-20T12:00:00.000Z', calls: 3 },
      { sequence: 2, minute: '2026-05-20T12:01:00.000Z', calls: 7 },
      { sequence: 3, minute: '2026-05-20T12:01:00.000Z', calls: 1 },
    ]);
    expect(events[0]).to.include({ account: key.account, actor: 'system' });
    expect(await openCalls(key)).to.equal(9);
  });

  it('leaves a key alone whose meter is held, and does not wait for it', async () => {
    const [held, free] = await Promise.all([newKey(nodes[0]), newKey(nodes[0])]);
    for (const key of [held, free]) await open(key, '2026-05-20T12:00:00.000Z', 1);
    await transaction(nodes[0].pool, async (tx) => {
      await tx.query('SELECT FROM ledger.key_meters WHERE key_id = $1 FOR UPDATE', [held.id]);
      expect(await closeMinutes(nodes[1].pool, nodes[1].outbox)).to.equal(1);
    });
    expect([await openCalls(held), await openCalls(free)]).to.deep.equal([1, 0]);
    expect(await closeMinutes(nodes[1].pool, nodes[1].outbox)).to.equal(1);
  });

  it('can be asked for all of it, the open minute and held keys too', async () => {
    const [held, free] = await Promise.all([newKey(nodes[0]), newKey(nodes[0])]);
    const node = createAdmission(nodes[0].pool, nodes[0].clock, defaultPlanTable);
    for (const { hash } of [held, free]) await node.admit({ keyHash: hash, metered: true });
    let closing: Promise<void> | undefined;
    await transaction(nodes[0].pool, async (tx) => {
      await tx.query('SELECT FROM ledger.key_meters WHERE key_id = $1 FOR UPDATE', [held.id]);
      closing = closeAllMinutes(nodes[1].pool, nodes[1].outbox);
      await eventually('it waits for the held key', async () => {
        const { rows } = await nodes[0].pool.query(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      // What the holder adds before it lets go is closed with the rest.
      await tx.query('UPDATE ledger.usage_minutes SET calls = calls + 4 WHERE key_id = $1', [
        held.id,
      ]);
    });
    await closing;
    expect([await openCalls(held), await openCalls(free)]).to.deep.equal([0, 0]);
    const calls = async (key: TestKey) => (await meteredOf(key)).map(({ data }) => data.calls);
    expect([await calls(held), await calls(free)]).to.deep.equal([[5], [1]]);
  });

  it('loses no call and counts none twice while calls are admitted and minutes pass', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(nodes[0], 'PRO')));
    const admissions = nodes.map(({ pool, clock }) =>
      createAdmission(pool, clock, defaultPlanTable),
    );
    const admitted = new Map(keys.map(({ id }) => [id, 0]));
    const end = performance.now() + 2_500;
    const busy = (): boolean => performance.now() < end;

    const caller = async (number: number): Promise<void> => {
      while (busy()) {
        const key = keys[Math.floor(Math.random() * keys.length)];
        const node = admissions[number % 2];
        if (!key || !node) throw new Error('There are keys and admissions');
        const { admission } = await node.admit({ keyHash: key.hash, metered: true });
        if (admission.type === 'admitted') admitted.set(key.id, (admitted.get(key.id) ?? 0) + 1);
      }
    };
    // Minutes pass more quickly here: with the key's meter held, as by whoever changes them, the
    // open minute becomes a past one, each time another.
    let minutes = 0;
    const clock = async (): Promise<void> => {
      while (busy()) {
        for (const { id } of keys) {
          minutes += 1;
          await transaction(nodes[0].pool, async (tx) => {
            await tx.query('SELECT FROM ledger.key_meters WHERE key_id = $1 FOR UPDATE', [id]);
            await tx.query(
              `UPDATE ledger.usage_minutes SET minute = minute - $2 * interval '1 minute'
               WHERE key_id = $1 AND minute >= date_trunc('minute', clock_timestamp())`,
              [id, 10 * minutes],
            );
          });
        }
      }
    };
    let closed = 0;
    const closer = async ({ pool, outbox }: TestNode): Promise<void> => {
      while (busy()) closed += await closeMinutes(pool, outbox);
    };
    // As backups do, one after the other.
    const allCloser = async (): Promise<void> => {
      while (busy()) await closeAllMinutes(nodes[1].pool, nodes[1].outbox);
    };
    await Promise.all([
      ...Array.from({ length: 30 }, (_, number) => caller(number)),
      clock(),
      ...nodes.map(closer),
      allCloser(),
    ]);

    expect(closed).to.be.greaterThan(keys.length);
    for (const key of keys) {
      const events = await meteredOf(key);
      const metered = events.reduce((sum, { data }) => sum + data.calls, 0);
      const used = admitted.get(key.id);
      expect(metered + (await openCalls(key))).to.equal(used);
      expect((await meterOf(nodes[0], key)).month_calls).to.equal(used);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal(
        events.map((_, index) => index + 1),
      );
      const times = events.map(({ time }) => time);
      expect(times).to.deep.equal([...times].sort());
    }
  });
});
