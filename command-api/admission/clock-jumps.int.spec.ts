import { expect } from 'chai';
import { pino } from 'pino';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { clockedDatabase } from '../../ops/test/support/clock.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { foldMeters } from '../../ops/ledger/rebuild/folds.js';
import { named } from '../../ops/test/support/node.js';
import { isUsageEvent } from '../../schemas/events/catalogue.js';
import { created } from '../../schemas/testing/events.js';
import type { AdmittedCall } from './command.js';
import { admissionsOf, callOf } from '../testing/admission.js';
import { meterOf, newKey, setMeter, spendQrCode, type TestKey } from '../testing/keys.js';
import { alternate, onBoth } from '../testing/nodes.js';
import type { Admitted } from './command.js';
import { createClockWatch } from './clock-watch.js';
import { expireDueLinks } from '../links/expire/expiry.js';
import { findRecords, deleteExpiredRecords, saveRecords } from './idempotency.js';
import { closeAllMinutes, closeMinutes } from './metering.js';
import { createQrCodeQuota } from '../links/qr/route.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { twoLedgersFixture } from '../../ops/test/support/fixtures.js';

const hour = 3_600;
const day = 24 * hour;
/** Seconds. No month is longer than 31 days. */
const jumps = [
  ['an hour', hour],
  ['a month', 31 * day],
  ['a year', 365 * day],
] as const;

describe('command API: jumps of PostgreSQL’s clock, on two nodes', function () {
  this.timeout(60_000);
  const database = fixture(
    () => clockedDatabase('clock_jumps'),
    (clocked) => clocked.drop(),
    { needs: ['faketime'] },
  );
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;

  /** Reads the clock until a jump is trusted; a process needs more than a minute for that. */
  const trustClock = async (): Promise<void> => {
    for (let reading = 0; reading < 15; reading += 1) {
      for (const { clock } of nodes) await clock.read();
    }
  };

  /** @param seconds from the right time */
  const jumpTo = async (seconds: number): Promise<void> => {
    await database.setClockOffset(seconds);
    await trustClock();
  };

  beforeEach(() => jumpTo(0));

  /** New admissions have no cached refusals. */
  const call = (key: TestKey, count: number): Promise<readonly Admitted[]> =>
    alternate(admissionsOf(nodes), count, (admission) =>
      admission.admit({ keyHash: key.hash, metered: true }),
    );

  const admitted = async (key: TestKey, count: number): Promise<number> =>
    (await call(key, count)).filter(({ admission }) => admission.type === 'admitted').length;

  const callOnce = async (key: TestKey): Promise<AdmittedCall> => {
    const [result] = await call(key, 1);
    if (!result) throw new Error('admit() returned no outcome');
    return callOf(result);
  };

  /** Seconds until the end of the window, as the headers report it. */
  const secondsLeft = async (key: TestKey): Promise<number> => {
    const { now, window } = await callOnce(key);
    return (window.resetAt.getTime() - now.getTime()) / 1_000;
  };

  /** Spends QR codes; returns the number of those within the limit. */
  const spent = async (key: TestKey, count: number, limit: number): Promise<number> => {
    const quotas = onBoth(nodes, createQrCodeQuota);
    const decisions = await alternate(quotas, count, (quota) =>
      quota.spend(spendQrCode(key, limit)),
    );
    return decisions.filter(({ type }) => type === 'accepted').length;
  };

  const thisMonth = (): string => `${new Date().toISOString().slice(0, 7)}-01`;

  for (const [what, seconds] of jumps) {
    it(`a jump of ${what} starts no window, and its end leaves none full`, async () => {
      const key = await newKey(node);
      expect(await admitted(key, 40)).to.equal(40);
      await database.setClockOffset(seconds);
      expect(await admitted(key, 200)).to.equal(20);
      expect(await secondsLeft(key)).to.be.within(1, 60);
      await database.setClockOffset(0);
      expect(await admitted(key, 200)).to.equal(0);
      expect(await secondsLeft(key)).to.be.within(1, 60);
    });

    it(`a jump of ${what} does not change the quotas of the month`, async () => {
      const key = await newKey(node);
      const month = thisMonth();
      const usage = 'month_calls = 2000, month_links = 20, month_qr_codes = 34';
      await setMeter(node, key, `month = '${month}', ${usage}`);
      await database.setClockOffset(seconds);
      expect(await admitted(key, 200)).to.equal(0);
      expect(await spent(key, 20, 35)).to.equal(1);
      expect((await callOnce(key)).usage.calls).to.equal(2_000);
      await database.setClockOffset(0);
      expect(await admitted(key, 200)).to.equal(0);
      expect(await spent(key, 20, 35)).to.equal(0);
      const counts = { month_calls: 2_000, month_links: 20, month_qr_codes: 35 };
      expect(await meterOf(node, key)).to.include({ month, ...counts });
      const times = named('QrRendered', await node.events('usage'))
        .filter(({ subject }) => subject === key.id)
        .map(({ time }) => time.slice(0, 7));
      expect(times).to.deep.equal([month.slice(0, 7)]);
    });
  }

  it('a clock that returns from another month restores the usage of the right month', async () => {
    const key = await newKey(node, 'INDIE');
    expect(await admitted(key, 30)).to.equal(30);
    expect(await spent(key, 3, 5)).to.equal(3);
    await jumpTo(365 * day);
    expect(await admitted(key, 20)).to.equal(20);
    expect(await spent(key, 9, 5)).to.equal(5);
    await jumpTo(0);
    expect(await spent(key, 9, 5)).to.equal(2);
    expect(await admitted(key, 10)).to.equal(10);
    expect((await callOnce(key)).usage).to.include({ calls: 41, links: 0, qrCodes: 5 });
    await jumpTo(365 * day);
    expect(await spent(key, 9, 5)).to.equal(0);
    expect((await callOnce(key)).usage).to.include({ calls: 21, links: 0, qrCodes: 5 });

    await closeAllMinutes(node.pool, node.outbox);
    const events = (await node.events('usage')).filter(isUsageEvent);
    const folded = foldMeters(new Map(), events).get(key.id);
    expect(folded).to.include({ calls: 21, links: 0, qrCodes: 5 });
    expect(folded?.otherMonths).to.deep.equal({ [thisMonth()]: [41, 0, 5] });
    expect((await meterOf(node, key)).month).to.equal(folded?.month);
  });

  it('a jump back by hours leaves no window full for longer than a minute', async () => {
    const key = await newKey(node);
    expect(await admitted(key, 200)).to.equal(60);
    await database.setClockOffset(-5 * hour);
    expect(await admitted(key, 200)).to.equal(0);
    expect(await secondsLeft(key)).to.be.within(1, 60);
    await setMeter(node, key, `window_start = window_start - interval '61 seconds'`);
    expect(await admitted(key, 200)).to.equal(60);
  });

  it('a jump neither expires a link early nor deletes an idempotency record early', async () => {
    const { pool, outbox, clock } = node;
    const expiresAt = new Date(Date.now() + hour * 1_000).toISOString();
    await recordHistory(node, created('in-an-hour', { expiresAt }));
    const scope = { keyId: 'key', path: '/v2/shorten', idempotencyKey: 'order' };
    const response = { status: 201, body: '{}', isOutline: false, subjects: [] };
    const record = { ...scope, bodyHash: Buffer.alloc(32), ...response };
    await transaction(pool, (tx) => execute(tx, writeOnly(saveRecords([record], new Date()))));
    const isFound = async () => (await findRecords(pool, [scope], clock))[0] !== null;

    await database.setClockOffset(2 * day);
    expect(await expireDueLinks(pool, outbox, clock)).to.equal(0);
    expect(await deleteExpiredRecords(pool, clock)).to.equal(0);
    expect(await isFound()).to.equal(true);
    await trustClock();
    expect(await expireDueLinks(pool, outbox, clock)).to.equal(1);
    expect(await isFound()).to.equal(false);
    expect(await deleteExpiredRecords(pool, clock)).to.equal(1);
  });

  it('minutes that were counted during a jump are closed after it', async () => {
    const key = await newKey(node);
    await jumpTo(2 * hour);
    expect(await admitted(key, 7)).to.equal(7);
    await database.setClockOffset(0);
    while ((await closeMinutes(node.pool, node.outbox)) > 0);
    const metered = named('CallsMetered', await node.events('usage'));
    const ofKey = metered.filter(({ subject }) => subject === key.id);
    expect(ofKey.map(({ data }) => data.calls)).to.deep.equal([7]);
  });

  it('stored times in the future are reported until they are past, and windows there restart', async () => {
    const lines: { readonly level: number; readonly msg: string }[] = [];
    const write = (line: string): void => {
      lines.push(JSON.parse(line) as (typeof lines)[number]);
    };
    const { pool, clock } = node;
    const watch = createClockWatch(pool, clock, pino({ level: 'info' }, { write }));
    // Times in the future of earlier tests.
    await pool.query('TRUNCATE ledger.usage_minutes, log.records, ledger.idempotency');
    await pool.query(`UPDATE ledger.clock SET latest = 'epoch'`);
    await watch.check();
    expect(watch.aheadSeconds()).to.equal(0);

    await jumpTo(2 * hour);
    const key = await newKey(node);
    expect(await admitted(key, 200)).to.equal(60);
    await watch.check();
    await database.setClockOffset(0);
    // Remembers the latest time even if newer rows hide it.
    for (let round = 0; round < 3; round += 1) await watch.check();
    await pool.query('TRUNCATE log.records, ledger.idempotency, ledger.usage_minutes');
    await watch.check();
    expect(watch.aheadSeconds()).to.be.within(2 * hour - 60, 2 * hour);
    const { rows } = await pool.query(
      'SELECT FROM ledger.key_meters WHERE window_start > clock_timestamp()',
    );
    expect(rows).to.have.length(0);

    await database.setClockOffset(2 * hour + 10);
    await watch.check();
    expect(watch.aheadSeconds()).to.equal(0);
    expect(lines.map(({ level, msg }) => [level, msg])).to.deep.equal([
      [40, "a stored time is later than PostgreSQL's clock"],
      [30, "PostgreSQL's clock has reached the stored times"],
    ]);
  });
});
