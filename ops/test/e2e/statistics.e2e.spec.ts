import { expect } from 'chai';
import type { AccountStatsResponse, StatsResponse } from '../../../schemas/http/statistics.js';
import { type RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, resetDate, sharedProduct } from './harness.js';

const person: RequestOptions = {
  headers: {
    // An address in the United States.
    'X-Forwarded-For': '8.8.8.8',
    'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    'Accept-Language': 'de-CH,de;q=0.9',
    Referer: 'https://www.news.example.com/page',
  },
};
const program: RequestOptions = { headers: { ...person.headers, 'User-Agent': 'curl/8' } };
const silent: RequestOptions = { headers: { ...person.headers, DNT: '1', 'User-Agent': '' } };
const bot: RequestOptions = {
  headers: { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' },
};

const clicks = (value: string | null, count: number): object => ({ value, clicks: count });

describe('statistics', () => {
  const bench = sharedProduct();
  let accounts = 0;
  let key: string;

  const newAccount = async (): Promise<string> => {
    accounts += 1;
    return (await bench.key('PRO', { account: `statistics-${accounts}` })).key;
  };
  beforeEach(async () => {
    key = await newAccount();
  });

  const statsOf = async (code: string, query: string): Promise<StatsResponse> => {
    const response = await bench.api(`/v2/stats/${code}?${query}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as StatsResponse;
  };
  const accountStats = async (query = '', as = key): Promise<AccountStatsResponse> =>
    (await bench.api(`/v2/stats?${query}`, as)).json() as AccountStatsResponse;
  const visit = async (code: string, ...visitors: readonly RequestOptions[]): Promise<void> => {
    for (const visitor of visitors) {
      expect((await bench.visit(code, visitor)).status, code).to.equal(302);
    }
  };

  describe('without a period', () => {
    it('have exactly seven fields, before and after the link is projected', async () => {
      const link = await bench.link(key, { expiresIn: 600, maxClicks: 9 });
      const { shortCode, createdAt, expiresAt } = link;
      const expected = {
        ...{ shortCode, url: destination, clickCount: 0, createdAt },
        ...{ lastAccessed: null, expiresAt, maxClicks: 9 },
      };
      const isListed = async (): Promise<boolean> =>
        ((await bench.api('/v2/links', key)).json() as { links: unknown[] }).links.length > 0;
      for (let wasListed = false; !wasListed;) {
        wasListed = await isListed();
        expect(await bench.stats(shortCode, key)).to.deep.equal(expected);
      }
    });

    it('are 404 for an unknown code and a link of another account, and 400 for a parameter', async () => {
      const { shortCode } = await bench.link(key, { alias: 'Statistics-Case' });
      for (const [as, code] of [
        [await newAccount(), shortCode],
        [key, shortCode.toLowerCase()],
        [key, 'a%00b'],
      ] as const) {
        const path = `/v2/stats/${code}`;
        expectError(await bench.api(path, as), {
          ...{ status: 404, message: 'Short URL not found', path },
        });
      }
      const { key: sibling } = await bench.key('FREE', { account: `statistics-${accounts - 1}` });
      expect((await bench.stats(shortCode, sibling)).shortCode).to.equal(shortCode);
      const message = 'limit must be between 1 and 200';
      for (const path of ['/v2/stats', '/v2/stats/nothing0']) {
        expectError(await bench.api(`${path}?limit=201`, key), { status: 400, message, path });
      }
    });
  });

  it('show visits in all breakdowns, of a link and of the account', async () => {
    const { shortCode } = await bench.link(key);
    await visit(shortCode, person, person, silent, bot);
    await visit(`${shortCode}?qr`, program);
    const lists = {
      referrers: [clicks('news.example.com', 3), clicks(null, 1)],
      countries: [clicks('US', 3), clicks(null, 1)],
      browsers: [clicks(null, 2), clicks('Firefox', 2)],
      os: [clicks(null, 2), clicks('Linux', 2)],
      languages: [clicks('de', 3), clicks(null, 1)],
      triggers: [clicks('link', 3), clicks('qr', 1)],
      bots: 1,
      uniques: 2,
    };
    await eventuallyPasses(async () => {
      const stats = await statsOf(shortCode, 'include=all');
      expect(stats).to.deep.include({ shortCode, url: destination, clickCount: 4, ...lists });
      expect(stats.period).to.include({ interval: 'day', tz: 'UTC', clickCount: 4 });
      expect(stats.timeseries).to.have.length.within(31, 32);
      const last = stats.timeseries?.slice(-2) ?? [];
      expect(last.reduce((sum, bucket) => sum + bucket.clicks, 0)).to.equal(4);
      const { devices = [] } = stats;
      expect(devices.reduce((sum, device) => sum + device.clicks, 0)).to.equal(4);
      expect(await accountStats('include=all,links')).to.deep.include({
        ...{ linkCount: 1, clickCount: 4, ...lists, devices, timeseries: stats.timeseries },
        links: [{ shortCode, url: destination, clicks: 4 }],
      });
    });
  });

  it('are one breakdown, or the series, as CSV', async () => {
    const { shortCode } = await bench.link(key);
    await visit(shortCode, person, person, silent);
    await bench.expectClicks(shortCode, key, 3);
    const ask = (path: string, query: string, accept = 'text/csv') =>
      bench.api(`/v2/stats${path}?${query}`, key, { headers: { Accept: accept } });
    for (const path of ['', `/${shortCode}`]) {
      const response = await ask(path, 'include=countries');
      expect(response.text).to.equal('value,clicks\r\nUS,2\r\n,1\r\n');
      expect(response.headers).to.include({
        ...{ 'content-type': 'text/csv; charset=utf-8', vary: 'Origin, Accept' },
        'cache-control': 'no-store',
      });
      const day = 'include=timeseries&from=2026-05-01&to=2026-05-02';
      expect((await ask(path, day)).text).to.equal(
        'start,clicks\r\n2026-05-01T00:00:00+00:00,0\r\n',
      );
      const json = await ask(path, 'include=countries', 'text/csv;q=0.5, application/json');
      expect(json.headers).to.include({ 'content-type': 'application/json; charset=utf-8' });
      const refused = await ask(path, 'include=countries,os', 'text/csv, */*;q=0.1');
      expect(refused.text).to.include('include must name exactly one of timeseries, referrers, ');
      expect(refused.status).to.equal(400);
    }
    expect((await ask('', 'include=links')).text).to.equal(`value,clicks\r\n${shortCode},3\r\n`);
  });

  it('count the links of an account from their 201 on, and list the most clicked', async () => {
    expect(await accountStats('include=links')).to.deep.include({ linkCount: 0, links: [] });
    const codes: string[] = [];
    for (const count of [1, 2, 3]) {
      codes.push((await bench.link(key)).shortCode);
      expect((await accountStats()).linkCount).to.equal(count);
    }
    const [first = '', second = '', third = ''] = codes;
    await visit(first, person, bot);
    await visit(second, person, person, person);
    await visit(third, person);
    await eventuallyPasses(async () => {
      const { links, clickCount, period } = await accountStats('include=links');
      const onceClicked = [first, third].sort().map((code) => [code, 1]);
      expect(links?.map((link) => [link.shortCode, link.clicks])).to.deep.equal([
        ...[[second, 3], ...onceClicked],
      ]);
      expect([clickCount, period.clickCount]).to.deep.equal([5, 5]);
    });
    expect((await accountStats('include=links&limit=1')).links).to.have.lengthOf(1);
    const past = 'include=links&from=2026-01-01&to=2026-02-01';
    expect(await accountStats(past)).to.deep.include({ links: [], clickCount: 5 });
  });
});

describe('GET /v2/usage', () => {
  const bench = sharedProduct();

  it('shows the usage of a key, and spends no monthly call', async () => {
    const { key } = await bench.key('FREE', { account: 'usage' });
    const expectUsage = async (calls: number, links: number): Promise<void> => {
      expect((await bench.api('/v2/usage', key)).json()).to.deep.equal({
        plan: 'FREE',
        calls: { used: calls, limit: 2_000 },
        links: { used: links, limit: 35 },
        qrCodes: { used: 0, limit: 35 },
        resetDate: resetDate(),
      });
    };
    for (let round = 0; round < 2; round += 1) await expectUsage(0, 0);
    await bench.link(key);
    expect((await bench.shorten(key, {})).status).to.equal(400);
    await expectUsage(2, 1);
  });
});
