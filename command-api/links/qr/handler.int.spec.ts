import { expect } from 'chai';
import { rejection } from '../../../ops/test/support/waiting.js';
import { named, type TestNode } from '../../../ops/test/support/node.js';
import { meterOf, newKey, setMeter, type TestKey } from '../../testing/keys.js';
import { createQrCodeQuota, type QrCodeQuota } from './handler.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: spending of QR codes, on two nodes', () => {
  const database = databaseFixture('qrcodes');
  const nodes = twoLedgersFixture(database);
  let quotas: readonly [QrCodeQuota, QrCodeQuota];

  before(() => {
    const quota = ({ pool, outbox, clock }: TestNode) => createQrCodeQuota(pool, outbox, clock);
    quotas = [quota(nodes[0]), quota(nodes[1])];
  });

  const spend = (node: 0 | 1, { id, account }: TestKey, limit: number | null, code = 'spring') =>
    quotas[node].spend({
      keyId: id,
      actor: id,
      account,
      code,
      limit,
      requestId: `request-${code}`,
    });

  const eventsOf = async ({ id }: TestKey) =>
    named('QrRendered', await nodes[0].events('usage')).filter(({ subject }) => subject === id);

  const used = async (key: TestKey): Promise<number> =>
    (await meterOf(nodes[0], key)).month_qr_codes;

  it('counts each, with an event that tells key, code and request', async () => {
    const key = await newKey(nodes[0]);
    expect(await spend(0, key, 2)).to.equal('spent');
    expect(await spend(1, key, 2, 'summer')).to.equal('spent');
    expect(await spend(0, key, 2)).to.equal('exhausted');
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

  it('hands out exactly the limit, however many are asked for on both at once', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => newKey(nodes[0])));
    const asked = Array.from({ length: 400 }, (_, number) => number);
    const outcomes = await Promise.all(
      asked.map(async (number) => {
        const key = keys[number % keys.length];
        if (!key) throw new Error('There are keys');
        return { key, outcome: await spend(number % 3 === 0 ? 0 : 1, key, 35) };
      }),
    );
    for (const key of keys) {
      const own = outcomes.filter((asked) => asked.key === key);
      expect(own.filter(({ outcome }) => outcome === 'spent')).to.have.length(35);
      expect(own.filter(({ outcome }) => outcome === 'exhausted')).to.have.length(65);
      const events = await eventsOf(key);
      expect(events.map(({ sequence }) => sequence)).to.deep.equal(
        Array.from({ length: 35 }, (_, index) => index + 1),
      );
      expect(await used(key)).to.equal(35);
    }
  });

  it('knows no limit where the plan has none', async () => {
    const key = await newKey(nodes[0]);
    await spend(1, key, null);
    await setMeter(nodes[0], key, 'month_qr_codes = 1000000');
    expect(await spend(0, key, null)).to.equal('spent');
    expect(await used(key)).to.equal(1_000_001);
  });

  it('begins anew in a new month, on which nothing else is spent yet', async () => {
    const key = await newKey(nodes[0]);
    await setMeter(
      nodes[0],
      key,
      "month = '2020-01-01', month_qr_codes = 35, month_links = 7, month_calls = 9",
    );
    expect(await spend(1, key, 35)).to.equal('spent');
    expect(await meterOf(nodes[0], key)).to.include({
      month_qr_codes: 1,
      month_links: 0,
      month_calls: 0,
    });
  });

  it('counts nothing whose event cannot be recorded', async () => {
    const key = await newKey(nodes[0]);
    const failing = createQrCodeQuota(
      nodes[0].pool,
      {
        ...nodes[0].outbox,
        record() {
          throw new Error('the log is away');
        },
      },
      nodes[0].clock,
    );
    const command = {
      keyId: key.id,
      actor: key.id,
      account: key.account,
      code: 'spring',
      limit: 35,
    };
    const error = await rejection(failing.spend({ ...command, requestId: 'r' }));
    expect(error).to.have.property('message', 'the log is away');
    expect(await used(key)).to.equal(0);
    expect(await eventsOf(key)).to.be.empty;
  });
});
