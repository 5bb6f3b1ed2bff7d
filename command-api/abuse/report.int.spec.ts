import { expect } from 'chai';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { redirects } from '../../projectors/links/projection.js';
import { stats } from '../../projectors/statistics/projection.js';
import { feed } from '../../projectors/testing/harness.js';
import type { abusePeriods } from '../../schemas/http/abuse.js';
import { quarterMs } from '../../schemas/statistics/calendar.js';
import { blocked, created, deleted, spooledVisit } from '../../schemas/testing/events.js';
import { derivedKey, newKey } from '../testing/keys.js';
import { findAbuse } from './report.js';

/** Shortly after midnight, so that every period has quarters of two days. */
const now = new Date('2026-05-20T00:20:00Z');
const currentQuarter = Math.floor(now.getTime() / quarterMs);

/** Account, destination, and visits as [quarters of an hour ago, clicks]. */
type LinkOf = readonly [
  account: string,
  url: string,
  visits: readonly (readonly [number, number])[],
];
const links: Readonly<Record<string, LinkOf>> = {
  // Two days ago is in the week, and in the period before the day.
  rising: ['acme', 'https://EVIL.example.:443/a', [[0, 4], [3, 5], [4, 2], [100, 3]]], // prettier-ignore
  steady: ['acme', 'https://evil.example?b', [[1, 2], [5, 6], [95, 1], [96, 7]]], // prettier-ignore
  'go.example/tie': ['other', 'http://evil.example', [[2, 2], [7, 1]]], // prettier-ignore
  banned: ['other', 'https://banned.example/x', [[2, 2]]],
  gone: ['third', 'https://evil.example/', [[0, 1]]],
  old: ['third', 'https://[2001:db8::1]:8080/', [[672, 50], [1_343, 1], [1_344, 9]]], // prettier-ignore
  plain: ['third', 'https://[2001:DB8::1]/', []],
};

describe('command API: the report of possible abuse', () => {
  const database = databaseFixture('abuse');
  const node = ledgerFixture(database);
  const ofLinks = fixture(() => feed(database.pool, redirects));
  const visits = fixture(() => feed(database.pool, stats));

  before(async () => {
    const events = Object.entries(links).map(([subject, [account, url]], index) => {
      const ago = subject === 'plain' ? 100 : 1;
      const time = new Date(now.getTime() - ago * quarterMs + index);
      return created(subject, { url }, { account, time });
    });
    const ends = [
      blocked('banned', 2, { account: 'other', time: now }),
      deleted('gone', 2, { account: 'third', time: now }),
    ];
    await recordHistory(node, ...events, ...ends);
    await ofLinks.events(...events, ...ends);
    const clicks = Object.entries(links).flatMap(([subject, [account, , counts]]) =>
      counts.flatMap(([ago, count]) =>
        Array.from({ length: count + 1 }, (_, number) => {
          const time = new Date((currentQuarter - ago) * quarterMs);
          return { subject, account, time, bot: number === 0 };
        }),
      ),
    );
    const inOrder = clicks.sort((a, b) => a.time.getTime() - b.time.getTime());
    await visits.events(
      ...inOrder.map(({ subject, ...visit }, index) =>
        spooledVisit(subject, { ...visit, sequence: index + 1 }),
      ),
    );
  });

  const find = async (
    period: keyof typeof abusePeriods,
    limit = 20,
    bounds?: Parameters<typeof findAbuse>[4],
  ) => {
    const request = { period, limit, now };
    const report = await findAbuse(node.pool, node.outbox, request, 'https://sho.rt', bounds);
    if (report === 'incomplete') throw new Error('the statistics are incomplete');
    return report;
  };

  const clicksOf = async (...request: Parameters<typeof find>) =>
    (await find(...request)).links.map(({ shortCode, clicks, before }) => [
      shortCode,
      clicks,
      before,
    ]);

  const ofHour = [
    ['rising', 9, 2],
    ['banned', 2, 0],
    ['tie', 2, 1],
    ['steady', 2, 6],
    ['gone', 1, 0],
  ];

  it('has the links of all accounts by clicks, with those of the period before', async () => {
    expect(await clicksOf('hour')).to.deep.equal(ofHour);
    expect(await clicksOf('day')).to.deep.equal([
      ['rising', 11, 3],
      ['steady', 9, 7],
      ['tie', 3, 0],
      ['banned', 2, 0],
      ['gone', 1, 0],
    ]);
    expect((await clicksOf('week')).slice(0, 2)).to.deep.equal([
      ['steady', 16, 0],
      ['rising', 14, 0],
    ]);
    expect((await find('week')).links.map(({ shortCode }) => shortCode)).to.not.include('old');
    expect(await clicksOf('hour', 2)).to.deep.equal(ofHour.slice(0, 2));
  });

  it('has the current status, domain and account of each link', async () => {
    const { links } = await find('hour');
    expect(links.map(({ status }) => status)).to.deep.equal([
      ...['active', 'blocked', 'active', 'active', 'deleted'],
    ]);
    expect(links[2]).to.deep.equal({
      ...{ account: 'other', domain: 'go.example', shortCode: 'tie', status: 'active' },
      ...{ shortUrl: 'https://go.example/tie', url: 'http://evil.example', clicks: 2, before: 1 },
    });
    expect(links[0]).to.not.have.property('domain');
  });

  it('examines the most clicked links of the most clicked accounts within its bounds', async () => {
    const bounds = { accounts: 2, rows: 2, candidates: 4, destinations: 1, keys: 10 };
    expect(await clicksOf('hour', 20, bounds)).to.deep.equal(ofHour.slice(0, 4));
    expect((await find('hour', 20, bounds)).destinations).to.deep.equal([]);
  });

  it('has the hosts that active links of several accounts got in the period', async () => {
    const evil = { host: 'evil.example', accounts: 2, links: 3 };
    expect((await find('day')).destinations).to.deep.equal([evil]);
    expect((await find('week')).destinations).to.deep.equal([evil]);
  });

  it('has the newest accounts, by their first key', async () => {
    const first = await newKey(node);
    const second = await newKey(node);
    await derivedKey(node, first);
    const { accounts } = await find('day');
    expect(accounts.map(({ account }) => account)).to.deep.equal([second.account, first.account]);
    expect(accounts[0]).to.include({ links: 0, clicks: 0 });
    expect((await find('day', 1)).accounts).to.have.length(1);
  });
});
