import { expect } from 'chai';
import { topics } from '../../../schemas/events/topics.js';
import { dimensionNames } from '../../../schemas/statistics/document.js';
import { firstVisitRecordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { readConfig } from '../../config/config.js';
import { withDatabase } from '../../tools/cli/database.js';
import { serversFor } from '../support/product.js';
import type { AccountStatsResponse, StatsResponse } from '../../../schemas/http/statistics.js';
import { statuses, type RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, passwordForm, productFixture } from './harness.js';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
/** An address in the United States. */
const american = '8.8.8.8';

const person: RequestOptions = {
  headers: {
    'X-Forwarded-For': american,
    'User-Agent': firefox,
    'Accept-Language': 'de-CH,de;q=0.9',
    Referer: 'https://www.news.example.com/page',
  },
};
const silent: RequestOptions = { headers: { ...person.headers, DNT: '1', 'User-Agent': '' } };
const bot: RequestOptions = { headers: { 'User-Agent': googlebot } };

describe('command API: statistics of a period', () => {
  const bench = productFixture({ TRUSTED_PROXIES: '127.0.0.1' });
  let accounts = 0;

  /** Creates a key in a new account. */
  const newAccount = async (): Promise<string> => {
    accounts += 1;
    return (await bench.key('PRO', { account: `account-${accounts}` })).key;
  };

  const statsOf = async (key: string, code: string, query: string): Promise<StatsResponse> => {
    const response = await bench.api(`/v2/stats/${code}?${query}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as StatsResponse;
  };

  const accountStats = async (key: string, query = ''): Promise<AccountStatsResponse> => {
    const response = await bench.api(`/v2/stats?${query}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as AccountStatsResponse;
  };

  const visit = async (code: string, ...visitors: readonly RequestOptions[]): Promise<void> => {
    for (const visitor of visitors) {
      expect((await bench.visit(code, visitor)).status, code).to.equal(302);
    }
  };

  const clicks = (value: string | null, count: number): object => ({ value, clicks: count });

  it('shows visits in all breakdowns', async () => {
    const key = await newAccount();
    const { shortCode } = await bench.link(key);
    await visit(shortCode, person, person, silent, bot);
    await visit(`${shortCode}?qr`, {
      ...person,
      headers: { ...person.headers, 'User-Agent': 'curl/8' },
    });
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
      const stats = await statsOf(key, shortCode, 'include=all');
      expect(stats).to.deep.include({ shortCode, url: destination, clickCount: 4, ...lists });
      expect(stats.period).to.include({ interval: 'day', tz: 'UTC', clickCount: 4 });
      expect(stats.timeseries).to.have.length.within(31, 32);
      const last = stats.timeseries?.slice(-2) ?? [];
      expect(last.reduce((sum, bucket) => sum + bucket.clicks, 0)).to.equal(4);
      const { devices = [] } = stats;
      expect(devices.reduce((sum, device) => sum + device.clicks, 0)).to.equal(4);
      const ofAccount = await accountStats(key, 'include=all,links');
      expect(ofAccount).to.deep.include({
        ...{ linkCount: 1, clickCount: 4, ...lists, devices, timeseries: stats.timeseries },
        links: [{ shortCode, url: destination, clicks: 4 }],
      });
    });
  });

  for (const [what, body] of [
    ['a click limit', { maxClicks: 2 }],
    ['a password', { password: 'open sesame' }],
  ] as const) {
    it(`shows the visits of a link with ${what}`, async () => {
      const key = await newAccount();
      const { shortCode } = await bench.link(key, body);
      const options = 'password' in body ? passwordForm(body.password, person) : person;
      const response = await bench.visit(shortCode, options);
      expect(response.status).to.be.oneOf([302, 303]);
      await eventuallyPasses(async () => {
        const stats = await statsOf(key, shortCode, 'include=countries,uniques');
        expect(stats).to.deep.include({ countries: [clicks('US', 1)], uniques: 1 });
      });
    });
  }

  it('shows visits of an earlier release as not recorded', async () => {
    const key = await newAccount();
    const { shortCode } = await bench.link(key);
    const { dataDir } = bench.product;
    const config = readConfig({ ...(await serversFor(dataDir)), DATA_DIR: dataDir });
    const visitFields = { time: new Date(), account: `account-${accounts}`, spool: 'earlier' };
    const records = [1, 2].map((sequence) =>
      firstVisitRecordOf(spooledVisit(shortCode, { sequence, ...visitFields })),
    );
    await withDatabase(config, ({ log }) => log.append(topics.visits.name, records));
    await visit(shortCode, person);
    await eventuallyPasses(async () => {
      const stats = await statsOf(key, shortCode, 'include=all');
      expect(stats).to.deep.include({ clickCount: 3, uniques: 1, bots: 0 });
      const { targets, ...others } = stats;
      expect(targets).to.deep.equal([clicks(null, 3)]);
      for (const name of dimensionNames) {
        if (name === 'targets') continue;
        expect(others[name], name).to.have.lengthOf(2);
        expect(others[name]?.[0], name).to.deep.equal(clicks(null, 2));
      }
    });
  });

  it('contains only the included fields, in the requested zone and interval', async () => {
    const key = await newAccount();
    const { shortCode } = await bench.link(key);
    const query = 'from=2026-03-08&to=2026-03-09&interval=hour&tz=America/New_York';
    const seven = await statsOf(key, shortCode, query);
    expect(Object.keys(seven)).to.have.lengthOf(7);
    const { period, timeseries, ...rest } = await statsOf(
      key,
      shortCode,
      `include=timeseries&${query}`,
    );
    expect(rest).to.deep.equal(seven);
    expect(period).to.deep.equal({
      from: '2026-03-08T00:00:00-05:00',
      to: '2026-03-09T00:00:00-04:00',
      interval: 'hour',
      tz: 'America/New_York',
      clickCount: 0,
    });
    expect(timeseries).to.have.lengthOf(23);
    expect(timeseries?.[2]).to.deep.equal({ start: '2026-03-08T03:00:00-04:00', clicks: 0 });
    const again = `include=timeseries&from=${period?.from ?? ''}&to=${period?.to ?? ''}&interval=hour&tz=America/New_York`;
    expect((await statsOf(key, shortCode, again)).timeseries).to.deep.equal(timeseries);
  });

  it('returns one breakdown, or the series, as CSV', async () => {
    const key = await newAccount();
    const { shortCode } = await bench.link(key, { alias: 'as-csv' });
    await visit(shortCode, person, person, silent);
    await bench.expectClicks(shortCode, key, 3);
    const ask = (query: string, accept = 'text/csv', code = '') =>
      bench.api(`/v2/stats${code}?${query}`, key, { headers: { Accept: accept } });
    for (const code of ['', `/${shortCode}`]) {
      const response = await ask('include=countries', 'text/csv', code);
      expect(response.text).to.equal('value,clicks\r\nUS,2\r\n,1\r\n');
      expect(response.headers).to.include({
        ...{ 'content-type': 'text/csv; charset=utf-8', vary: 'Accept' },
        'cache-control': 'no-store',
      });
      const day = 'include=timeseries&from=2026-05-01&to=2026-05-02';
      expect((await ask(day, 'text/csv', code)).text).to.equal(
        'start,clicks\r\n2026-05-01T00:00:00+00:00,0\r\n',
      );
      for (const accept of ['*/*', 'text/csv;q=0.5, application/json', 'text/html']) {
        const json = await ask('include=countries', accept, code);
        expect(json.headers['content-type'], accept).to.equal('application/json; charset=utf-8');
        expect(json.headers.vary).to.equal('Accept');
      }
      for (const include of ['', 'include=all', 'include=countries,os', 'include=bots']) {
        const refused = await ask(include, 'text/csv, */*;q=0.1', code);
        expect(refused.status).to.equal(400);
        expect(refused.json()).to.deep.include({
          message:
            'include must name exactly one of timeseries, referrers, countries, browsers, os, devices, ' +
            'languages, triggers, targets, links for text/csv',
        });
      }
    }
    expect((await ask('include=links')).text).to.equal('value,clicks\r\nas-csv,3\r\n');
    const head = await bench.api('/v2/stats?include=os', key, {
      ...{ method: 'HEAD', headers: { Accept: 'text/csv' } },
    });
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(head.headers['content-type']).to.equal('text/csv; charset=utf-8');
  });

  it('counts the links of an account from their 201 on, and lists the most clicked', async () => {
    const key = await newAccount();
    expect(await accountStats(key)).to.deep.include({ linkCount: 0, clickCount: 0 });
    const codes: string[] = [];
    for (const count of [1, 2, 3]) {
      codes.push((await bench.link(key)).shortCode);
      expect((await accountStats(key)).linkCount).to.equal(count);
    }
    const urls = [{ url: destination }, { url: 'nonsense' }];
    await bench.api('/v2/shorten/batch', key, { method: 'POST', body: { urls } });
    expect((await accountStats(key)).linkCount).to.equal(4);

    const [first = '', second = '', third = ''] = codes;
    await visit(first, person, bot);
    await visit(second, person, person, person);
    await visit(third, person);
    const onceClicked = [first, third].sort();
    await eventuallyPasses(async () => {
      const { links, clickCount, period } = await accountStats(key, 'include=links');
      expect(
        links?.map(({ shortCode, clicks: linkClicks }) => [shortCode, linkClicks]),
      ).to.deep.equal([...[[second, 3], ...onceClicked.map((code) => [code, 1])]]);
      expect([clickCount, period.clickCount]).to.deep.equal([5, 5]);
    });
    expect((await accountStats(key, 'include=links&limit=1')).links).to.have.lengthOf(1);
    const past = 'include=links&from=2026-01-01&to=2026-02-01';
    expect(await accountStats(key, past)).to.deep.include({ links: [], clickCount: 5 });
    expect(await accountStats(await newAccount(), 'include=links')).to.deep.include({
      ...{ linkCount: 0, clickCount: 0, links: [] },
    });
  });

  it('is exact for concurrent visits', async () => {
    const key = await newAccount();
    const { shortCode } = await bench.link(key);
    const responses = await Promise.all(
      Array.from({ length: 200 }, () => bench.visit(shortCode, person)),
    );
    expect(statuses(responses)).to.deep.equal({ 302: 200 });
    await eventuallyPasses(async () => {
      const stats = await statsOf(key, shortCode, 'include=all');
      expect(stats.period?.clickCount).to.equal(200);
      expect(stats.browsers).to.deep.equal([clicks('Firefox', 200)]);
      expect(stats.uniques).to.equal(1);
    });
  });

  it('responds with 400 to an invalid parameter, also without include, and for an unknown code', async () => {
    const key = await newAccount();
    for (const [query, message] of [
      [
        'from=yesterday',
        'from must be a time in ISO 8601, such as 2026-11-22 or 2026-11-22T09:30:00+05:45',
      ],
      ['limit=201', 'limit must be between 1 and 200'],
      ['from=2020-01-01', 'The period has more than 400 intervals'],
    ] as const) {
      for (const path of ['/v2/stats', '/v2/stats/nothing0']) {
        expectError(await bench.api(`${path}?${query}`, key), { status: 400, message, path });
      }
    }
    const { message } = (await bench.api('/v2/stats/nothing0?include=links', key)).json() as Error;
    expect(message).to.match(/^include must be all, or some of /);
  });
});
