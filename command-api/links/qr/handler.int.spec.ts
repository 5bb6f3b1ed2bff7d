import { expect } from 'chai';
import { rejection } from '../../../ops/test/support/waiting.js';
import { named, type TestNode } from '../../../ops/test/support/node.js';
import { meterOf, newKey, setMeter, spendQrCode, type TestKey } from '../../testing/keys.js';
import { createQrCodeQuota, type QrCodeQuota } from './handler.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: quota of QR codes, on two nodes', () => {
  const database = databaseFixture('qrcodes');
  const nodes = twoLedgersFixture(database);
  let quotas: readonly [QrCodeQuota, QrCodeQuota];

  before(() => {
    const quota = ({ pool, outbox, clock }: TestNode) => createQrCodeQuota({ pool, outbox, clock });
    quotas = [quota(nodes[0]), quota(nodes[1])];
  });

  /** `accepted`, or `refused`. */
  const spend = async (node: 0 | 1, ...args: Parameters<typeof spendQrCode>) =>
    (await quotas[node].spend(spendQrCode(...args))).type;

  const eventsOf = async ({ id }: TestKey) =>
    named('QrRendered', await nodes[0].events('usage')).filter(({ subject }) => subject === id);

  const used = async (key: TestKey): Promise<number> =>
    (await meterOf(nodes[0], key)).month_qr_codes;

  it('records an event with key, code and request for each', async () => {
    const key = await newKey(nodes[0]);
    expect(await spend(0, key, 2)).to.equal('accepted');
    expect(await spend(1, key, 2, 'summer')).to.equal('accepted');
    expect(await spend(0, key, 2)).to.equal('refused');
    const events = await eventsOf(key);
    expect(
      events.map(({ sequence, account, actor, correlationid, data }) => {
        return { sequence, account, actor, correlationid, data };
      }),
    ).to.deep.equal(
      ['spring', 'summer'].map((code, index) => ({
        sequence: index + 1,
        account: key.account,
        actor: key.id,
        correlationid: `request-${code}`,
        data: { code },
      })),
    );
    expect(await used(key)).to.equal(2);
  });

  it('grants exactly the limit under concurrency on two nodes', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(nodes[0])));
    const numbers = Array.from({ length: 400 }, (_, number) => number);
    const outcomes = await Promise.all(
      numbers.map(async (number) => {
        const key = keys[number % keys.length];
        if (!key) throw new Error('There are keys');
        return { key, outcome: await spend(number % 3 === 0 ? 0 : 1, key, 35) };
      }),
    );
    for (const key of keys) {
      const own = outcomes.filter((spent) => spent.key === key);
      expect(own.filter(({ outcome }) => outcome === 'accepted')).to.have.length(35);
      expect(own.filter(({ outcome }) => outcome === 'refused')).to.have.length(65);
      const events = await eventsOf(key);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal(
        Array.from({ length: 35 }, (_, index) => index + 1),
      );
      expect(await used(key)).to.equal(35);
    }
  });

  it('grants any number without a limit', async () => {
    const key = await newKey(nodes[0]);
    await spend(1, key, null);
    await setMeter(nodes[0], key, 'month_qr_codes = 1000000');
    expect(await spend(0, key, null)).to.equal('accepted');
    expect(await used(key)).to.equal(1_000_001);
  });

  it('starts at zero in a new month', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(
      nodes[0],
      key,
      "month = '2020-01-01', month_qr_codes = 35, month_links = 7, month_calls = 9",
    );
    expect(await spend(1, key, 35)).to.equal('accepted');
    expect(await meterOf(nodes[0], key)).to.include({
      month_qr_codes: 1,
      month_links: 0,
      month_calls: 0,
    });
  });

  it('counts nothing if the event cannot be recorded', async () => {
    const key = await newKey(nodes[0]);
    const { pool, outbox, clock } = nodes[0];
    const record = () => {
      throw new Error('the log is unavailable');
    };
    const failing = createQrCodeQuota({ pool, outbox: { ...outbox, record }, clock });
    const error = await rejection(failing.spend(spendQrCode(key, 35)));
    expect(error).to.have.property('message', 'the log is unavailable');
    expect(await used(key)).to.equal(0);
    expect(await eventsOf(key)).to.be.empty;
  });
});
