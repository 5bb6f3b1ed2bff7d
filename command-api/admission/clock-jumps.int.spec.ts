import { expect } from 'chai';
import { pino } from 'pino';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { clockedDatabase } from '../../ops/test/support/clock.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { foldMeters } from '../../ops/ledger/rebuild/folds.js';
import { named } from '../../ops/test/support/node.js';
import { defaultPlanTable } from '../../schemas/plans.js';
import { isUsageEvent } from '../../schemas/events/catalogue.js';
import { created } from '../../schemas/testing/events.js';
import type { AdmittedCall } from './rate-limits.js';
import { meterOf, newKey, setMeter, type TestKey } from '../testing/keys.js';
import { createAdmission, type Admitted } from './admission.js';
import { createClockWatch } from './clock-watch.js';
import { expireDueLinks } from '../links/expire/expiry.js';
import { findRecords, deleteExpiredRecords, saveRecords } from './idempotency-records.js';
import { closeAllMinutes, closeMinutes } from './metering.js';
import { createQrCodeQuota } from '../links/qr/handler.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { twoLedgersFixture } from '../../ops/test/support/fixtures.js';

const hour = 3_600;
const day = 24 * hour;
/** In seconds: no month is longer, and none of a year is the same. */
const jumps = [
  ['an hour', hour],
  ['a month', 31 * day],
  ['a year', 365 * day],
] as const;

describe('command API: PostgreSQL’s clock goes ahead and comes back, on two nodes', function () {
  this.timeout(60_000);
  const database = fixture(
    () => clockedDatabase('clock_jumps'),
    (database) => database.drop(),
  );
  const nodes = twoLedgersFixture(database);

  /** What a process does for more than a minute: after that, it believes a clock that has jumped. */
  const believe = async (): Promise<void> => {
    for (let reading = 0; reading < 15; reading += 1) {
      for (const { clock } of nodes) await clock.read();
    }
  };

  beforeEach(async () => {
    await database.setClockOffset(0);
    await believe();
  });

  /** Calls by turns on the two nodes, all at once; nobody remembers what was refused before. */
  const call = async (key: TestKey, count: number): Promise<readonly Admitted[]> => {
    const [one, other] = nodes.map(({ pool, clock }) =>
      createAdmission(pool, clock, defaultPlanTable),
    );
    if (!one || !other) throw new Error('There are two nodes');
    return Promise.all(
      Array.from({ length: count }, (_, index) =>
        (index % 2 === 0 ? one : other).admit({ keyHash: key.hash, metered: true }),
      ),
    );
  };

  const admitted = async (key: TestKey, count: number): Promise<number> =>
    (await call(key, count)).filter(({ admission }) => admission.type === 'admitted').length;

  const callOf = async (key: TestKey): Promise<AdmittedCall> => {
    const [result] = await call(key, 1);
    if (!result || result.admission.type === 'keyInvalid' || !result.admission.call) {
      throw new Error('No call');
    }
    return result.admission.call;
  };

  /** Seconds until the key's window is over, as the key is told. */
  const secondsLeft = async (key: TestKey): Promise<number> => {
    const { now, window } = await callOf(key);
    return (window.resetAt.getTime() - now.getTime()) / 1_000;
  };

  const thisMonth = (): string => `${new Date().toISOString().slice(0, 7)}-01`;

  for (const [what, seconds] of jumps) {
    it(`a jump of ${what} opens no window, and its end leaves none full`, async () => {
      const key = await newKey(nodes[0]);
      expect(await admitted(key, 40)).to.equal(40);
      await database.setClockOffset(seconds);
      expect(await admitted(key, 200)).to.equal(20);
      expect(await secondsLeft(key)).to.be.within(1, 60);
      await database.setClockOffset(0);
      expect(await admitted(key, 200)).to.equal(0);
      expect(await secondsLeft(key)).to.be.within(1, 60);
    });

    it(`a window that was opened ${what} ahead is over in 60 s after the end of the jump`, async () => {
      const key = await newKey(nodes[0]);
      await database.setClockOffset(seconds);
      await believe();
      expect(await admitted(key, 200)).to.equal(60);
      await database.setClockOffset(0);
      await believe();
      expect(await admitted(key, 200)).to.equal(0);
      expect(await secondsLeft(key)).to.be.within(1, 60);
      // 59 s later, and 61.
      await setMeter(nodes[0], key, `window_start = window_start - interval '58 seconds'`);
      expect(await admitted(key, 200)).to.equal(0);
      await setMeter(nodes[0], key, `window_start = window_start - interval '3 seconds'`);
      expect(await admitted(key, 200)).to.equal(60);
    });

    it(`a jump of ${what} gives no part of a month's quota, and takes none`, async () => {
      const key = await newKey(nodes[0]);
      const spent = { month: thisMonth(), month_calls: 2_000, month_links: 20, month_qr_codes: 34 };
      await setMeter(
        nodes[0],
        key,
        `month = '${spent.month}', month_calls = 2000, month_links = 20, month_qr_codes = 34`,
      );
      await database.setClockOffset(seconds);
      expect(await admitted(key, 200)).to.equal(0);
      const spend = () =>
        Promise.all(
          Array.from({ length: 20 }, (_, index) => {
            const { pool, outbox, clock } = nodes[index % 2 === 0 ? 0 : 1];
            const quota = createQrCodeQuota(pool, outbox, clock);
            return quota.spend({
              ...{ keyId: key.id, actor: key.id, account: key.account, code: 'spring', limit: 35 },
              requestId: 'request',
            });
          }),
        );
      expect((await spend()).filter((outcome) => outcome === 'spent')).to.have.length(1);
      expect((await callOf(key)).usage.calls).to.equal(2_000);
      await database.setClockOffset(0);
      expect(await admitted(key, 200)).to.equal(0);
      expect(await spend()).not.to.include('spent');
      expect(await meterOf(nodes[0], key)).to.include({ ...spent, month_qr_codes: 35 });
      const times = named('QrRendered', await nodes[0].events('usage'))
        .filter(({ subject }) => subject === key.id)
        .map(({ time }) => time.slice(0, 7));
      expect(times).to.deep.equal([spent.month.slice(0, 7)]);
    });
  }

  it('a month begins when PostgreSQL has said so for more than a minute', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(nodes[0], key, `month = '${thisMonth()}', month_calls = 2000`);
    await database.setClockOffset(31 * day);
    expect(await admitted(key, 10)).to.equal(0);
    await believe();
    expect(await admitted(key, 10)).to.equal(10);
    expect(await meterOf(nodes[0], key)).to.include({ month_calls: 10 });
  });

  it('a month that was begun by a clock that came back gives way to the right one, each with its counts', async () => {
    const key = await newKey(nodes[0], 'INDIE');
    const [{ pool, outbox, clock }] = nodes;
    const spend = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          createQrCodeQuota(pool, outbox, clock).spend({
            ...{ keyId: key.id, actor: key.id, account: key.account, code: 'spring', limit: 5 },
            requestId: 'request',
          }),
        ),
      );
    const spentOf = async (count: number): Promise<number> =>
      (await spend(count)).filter((outcome) => outcome === 'spent').length;

    expect(await admitted(key, 30)).to.equal(30);
    expect(await spentOf(3)).to.equal(3);
    await database.setClockOffset(365 * day);
    await believe();
    expect(await admitted(key, 20)).to.equal(20);
    expect(await spentOf(9)).to.equal(5);
    await database.setClockOffset(0);
    await believe();
    expect(await spentOf(9)).to.equal(2);
    expect(await admitted(key, 10)).to.equal(10);
    expect((await callOf(key)).usage).to.include({ calls: 41, links: 0, qrCodes: 5 });
    await database.setClockOffset(365 * day);
    await believe();
    expect(await spentOf(9)).to.equal(0);
    expect((await callOf(key)).usage).to.include({ calls: 21, links: 0, qrCodes: 5 });

    await closeAllMinutes(pool, outbox);
    const events = (await nodes[0].events('usage')).filter(isUsageEvent);
    const folded = foldMeters(new Map(), events).get(key.id);
    expect(folded).to.include({ calls: 21, links: 0, qrCodes: 5 });
    expect(folded?.otherMonths).to.deep.equal({ [thisMonth()]: [41, 0, 5] });
    expect((await meterOf(nodes[0], key)).month).to.equal(folded?.month);
  });

  it('a jump back by hours leaves nothing full for longer than a minute', async () => {
    const key = await newKey(nodes[0]);
    expect(await admitted(key, 200)).to.equal(60);
    await database.setClockOffset(-5 * hour);
    expect(await admitted(key, 200)).to.equal(0);
    expect(await secondsLeft(key)).to.be.within(1, 60);
    await setMeter(nodes[0], key, `window_start = window_start - interval '61 seconds'`);
    expect(await admitted(key, 200)).to.equal(60);
  });

  it('a jump expires no link before its time, and forgets no kept answer', async () => {
    const [{ pool, outbox, clock }] = nodes;
    const expiresAt = new Date(Date.now() + hour * 1_000).toISOString();
    await recordHistory(nodes[0], created('in-an-hour', { expiresAt }));
    const scope = { keyId: 'key', path: '/v2/shorten', idempotencyKey: 'order' };
    const kept = {
      ...scope,
      bodyHash: Buffer.alloc(32),
      status: 201,
      answer: '{}',
      isOutline: false,
      codes: [],
    };
    await transaction(pool, (tx) => execute(tx, writeOnly(saveRecords([kept], new Date()))));
    const found = async (by: LedgerClock) => (await findRecords(pool, [scope], by))[0] !== null;

    await database.setClockOffset(2 * day);
    expect(await expireDueLinks(pool, outbox, clock)).to.equal(0);
    expect(await deleteExpiredRecords(pool, clock)).to.equal(0);
    expect(await found(clock)).to.equal(true);
    await believe();
    expect(await expireDueLinks(pool, outbox, clock)).to.equal(1);
    expect(await found(clock)).to.equal(false);
    expect(await deleteExpiredRecords(pool, clock)).to.equal(1);
  });

  it('minutes that a jump has counted are closed when it is over', async () => {
    const key = await newKey(nodes[0]);
    await database.setClockOffset(2 * hour);
    await believe();
    expect(await admitted(key, 7)).to.equal(7);
    await database.setClockOffset(0);
    const [{ pool, outbox }] = nodes;
    while ((await closeMinutes(pool, outbox)) > 0);
    const metered = named('CallsMetered', await nodes[0].events('usage'));
    expect(
      metered.filter(({ subject }) => subject === key.id).map(({ data }) => data.calls),
    ).to.deep.equal([7]);
  });

  it('times that lie ahead are told while they do, and windows there begin anew at once', async () => {
    const lines: { readonly level: number; readonly msg: string }[] = [];
    const write = (line: string): void => {
      lines.push(JSON.parse(line) as (typeof lines)[number]);
    };
    const [{ pool, outbox, clock }] = nodes;
    const watch = createClockWatch(pool, clock, pino({ level: 'info' }, { write }));
    // What other tests have left ahead.
    await pool.query('DELETE FROM ledger.usage_minutes');
    await pool.query('TRUNCATE log.records, ledger.idempotency');
    await pool.query(`UPDATE ledger.clock SET latest = 'epoch'`);
    await watch.look();
    expect(watch.aheadSeconds()).to.equal(0);

    await database.setClockOffset(2 * hour);
    await believe();
    const key = await newKey({ pool, outbox });
    expect(await admitted(key, 200)).to.equal(60);
    await watch.look();
    await database.setClockOffset(0);
    // Newer events hide those that lie ahead; what was seen once is known until its time comes.
    for (let look = 0; look < 3; look += 1) await watch.look();
    await pool.query('TRUNCATE log.records, ledger.idempotency, ledger.usage_minutes');
    await watch.look();
    expect(watch.aheadSeconds()).to.be.within(2 * hour - 60, 2 * hour);
    const { rows } = await pool.query(
      'SELECT FROM ledger.key_meters WHERE window_start > clock_timestamp()',
    );
    expect(rows).to.have.length(0);

    await database.setClockOffset(2 * hour + 10);
    await watch.look();
    expect(watch.aheadSeconds()).to.equal(0);
    expect(lines.map(({ level, msg }) => [level, msg])).to.deep.equal([
      [40, "a stored time lies ahead of PostgreSQL's clock"],
      [30, "PostgreSQL's clock has reached the stored times"],
    ]);
  });
});
