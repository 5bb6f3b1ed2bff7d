import { expect } from 'chai';
import { named } from '../../../ops/test/support/node.js';
import { meterOf, newKey, setMeter, spendQrCode, type TestKey } from '../../testing/keys.js';
import { alternate, countTypes, onBoth } from '../../testing/nodes.js';
import { createQrCodeQuota } from './route.js';
import { fixture } from '../../../ops/test/support/fixture.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: quota of QR codes, on two nodes', () => {
  const database = databaseFixture('qrcodes');
  const nodes = twoLedgersFixture(database);
  const [node] = nodes;
  const quotas = fixture(() => onBoth(nodes, createQrCodeQuota));

  /** `accepted`, or `refused`. */
  const spend = async (index: 0 | 1, ...args: Parameters<typeof spendQrCode>) =>
    (await quotas[index].spend(spendQrCode(...args))).type;

  const eventsOf = async ({ id }: TestKey) =>
    named('QrRendered', await node.events('usage')).filter(({ subject }) => subject === id);

  const used = async (key: TestKey): Promise<number> => (await meterOf(node, key)).month_qr_codes;

  it('records an event with key, code and request for each', async () => {
    const key = await newKey(node);
    expect(await spend(0, key, 2)).to.equal('accepted');
    expect(await spend(1, key, 2, 'summer')).to.equal('accepted');
    expect(await spend(0, key, 2)).to.equal('refused');
    const [first, second, ...others] = await eventsOf(key);
    const { account, id: actor } = key;
    const spring = { sequence: 1, correlationid: 'request-spring', data: { code: 'spring' } };
    const summer = { sequence: 2, correlationid: 'request-summer', data: { code: 'summer' } };
    expect(first).to.deep.include({ ...spring, account, actor });
    expect(second).to.deep.include({ ...summer, account, actor });
    expect(others).to.deep.equal([]);
    expect(await used(key)).to.equal(2);
  });

  it('grants exactly the limit of each key under concurrency', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(node)));
    const decisions = await Promise.all(
      keys.map((key) => alternate(quotas, 100, (quota) => quota.spend(spendQrCode(key, 35)))),
    );
    for (const [index, key] of keys.entries()) {
      expect(countTypes(decisions[index] ?? [])).to.deep.equal({ accepted: 35, refused: 65 });
      const events = await eventsOf(key);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal(
        Array.from({ length: 35 }, (_, position) => position + 1),
      );
      expect(await used(key)).to.equal(35);
    }
  });

  it('grants any number without a limit', async () => {
    const key = await newKey(node);
    await spend(1, key, null);
    await setMeter(node, key, 'month_qr_codes = 1000000');
    expect(await spend(0, key, null)).to.equal('accepted');
    expect(await used(key)).to.equal(1_000_001);
  });

  it('starts at zero in a new month', async () => {
    const key = await newKey(node);
    const usage = 'month_qr_codes = 35, month_links = 7, month_calls = 9';
    await setMeter(node, key, `month = '2020-01-01', ${usage}`);
    expect(await spend(1, key, 35)).to.equal('accepted');
    const meter = { month_qr_codes: 1, month_links: 0, month_calls: 0 };
    expect(await meterOf(node, key)).to.include(meter);
  });
});
