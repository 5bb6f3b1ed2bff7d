import { expect } from 'chai';
import { transaction } from '../../../ops/platform/postgres/pool.js';
import { foldedLinks, recordHistory, storedLinks } from '../../../ops/test/support/ledger-links.js';
import { named, type TestNode } from '../../../ops/test/support/node.js';
import { at, blocked, created, expired, visited } from '../../../schemas/testing/events.js';
import { expireDueLinks } from './expiry.js';
import { databaseFixture, twoLedgersFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: expiry of links by time, on two nodes', () => {
  const database = databaseFixture('expiry');
  const nodes = twoLedgersFixture(database);

  afterEach(async () => {
    expect(await storedLinks(nodes[0])).to.deep.equal(await foldedLinks(nodes[0]));
  });

  const sweep = (node: TestNode): Promise<number> =>
    expireDueLinks(node.pool, node.outbox, node.clock);

  const expiries = async () =>
    named('LinkExpired', await nodes[0].events('links')).map(({ subject, sequence, data }) => [
      subject,
      sequence,
      data.reason,
    ]);

  const past = { expiresAt: at(1).toISOString() };
  const future = { expiresAt: new Date(Date.now() + 3_600_000).toISOString() };

  it('writes LinkExpired for due links only, including blocked ones', async () => {
    await recordHistory(
      nodes[0],
      created('due', past),
      created('later', future),
      created('endless'),
      created('bad', past),
      blocked('bad', 2),
      created('gone', past),
      expired('gone', 2),
      created('used-up', { ...past, maxClicks: 1 }),
      visited('used-up', 1),
      expired('used-up', 2, 'clicks'),
    );
    expect(await sweep(nodes[0])).to.equal(2);
    expect(await sweep(nodes[1])).to.equal(0);
    expect((await expiries()).sort()).to.deep.equal([
      ['bad', 3, 'time'],
      ['due', 2, 'time'],
      ['gone', 2, 'time'],
      ['used-up', 2, 'clicks'],
    ]);
  });

  it('writes LinkExpired once under concurrent sweeps', async () => {
    const codes = Array.from({ length: 1_300 }, (_, index) => `many-${index}`);
    await recordHistory(nodes[0], ...codes.map((code) => created(code, past)));
    const sweeper = async (node: TestNode): Promise<number> => {
      const done = await sweep(node);
      return done === 0 ? 0 : done + (await sweeper(node));
    };
    const [a, b, c] = await Promise.all([sweeper(nodes[0]), sweeper(nodes[1]), sweeper(nodes[1])]);
    // A sweeper that finds all remaining links locked ends early.
    const rest = await sweeper(nodes[0]);
    expect(a + b + c + rest).to.equal(codes.length);
    const subjects = (await expiries()).map(([subject]) => String(subject));
    expect(subjects.filter((subject) => subject.startsWith('many-')).sort()).to.deep.equal(
      codes.sort(),
    );
  });

  it('skips locked links, and expires them in the next sweep', async () => {
    await recordHistory(nodes[0], created('locked', past), created('free', past));
    await transaction(nodes[0].pool, async (tx) => {
      await tx.query(`SELECT FROM ledger.links WHERE subject = 'locked' FOR UPDATE`);
      expect(await sweep(nodes[1])).to.equal(1);
    });
    expect(await sweep(nodes[1])).to.equal(1);
  });
});
