import { expect } from 'chai';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { nameOf } from '../support/feed-event.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { sharedProduct } from './harness.js';
import { csvFile, importCalls, outcomesOf, row } from './imports-harness.js';

const header = 'code,url';
const url = 'https://example.com/imported';

describe('an import creates links', () => {
  const bench = sharedProduct();
  const imports = importCalls(bench);
  const { readAll } = eventPages(bench);
  let owner: IssuedKey;
  let key: string;
  let other: string;

  before(async () => {
    owner = await bench.key('PRO', { account: 'imported-links' });
    ({ key } = owner);
    ({ key: other } = await bench.key('PRO', { account: 'imported-links-other' }));
  });

  it('that spend one link of the month each, until the quota ends, as a dry run predicts', async () => {
    const account = 'imports-free';
    const { key: free } = await bench.key('FREE', { account });
    // FREE allows fewer calls than the polls need.
    const { key: poller } = await bench.key('PRO', { account });
    const run = async (query = '') =>
      imports.waitForEnd((await imports.start(file, free, query)).id, poller);
    const urls = Array.from({ length: 33 }, () => ({ url }));
    await bench.api('/v2/shorten/batch', free, { method: 'POST', body: { urls } });
    const codes = ['q-1', 'bad code', 'q-2', 'q-3', 'q-1', 'login'];
    const file = csvFile(header, ...codes.map((code) => row(code)));
    const dry = await run('?dryRun=true');
    expect(outcomesOf(dry)).to.deep.equal([
      ...['q-1 created', 'bad code invalid', 'q-2 created', 'q-3 quota', 'q-1 exists'],
      'login reserved',
    ]);
    expect((await bench.api('/v2/links/q-1', free)).status).to.equal(404);
    expect((await bench.usage(free)).links).to.equal(33);
    const { ended, rows } = await run();
    expect(rows).to.deep.equal(dry.rows);
    expect(rows[3]?.message).to.equal('The links of the month are used up.');
    expect(ended).to.include({ status: 'done', created: 2, existing: 1, failed: 3 });
    expect((await bench.usage(free)).links).to.equal(35);
  });

  it('with a taken code only if a suffix is requested, and none if conflicts fail it', async () => {
    const [taken, free] = ['imported-taken', 'imported-free'];
    await bench.link(other, { alias: taken });
    await bench.link(key, { alias: `${taken}-2` });
    await bench.api(`/v2/links/${taken}-2`, key, { method: 'DELETE' });
    const file = csvFile(header, row(taken), row(`${taken}-2`), row(free));
    const skipped = await imports.run(file, key, '?onConflict=skip&dryRun=1');
    expect(outcomesOf(skipped)).to.deep.equal([
      ...[`${taken} conflict`, `${taken}-2 conflict`, `${free} created`],
    ]);
    expect(skipped.rows.map(({ message }) => message)).to.deep.equal([
      ...['The code belongs to another link.', 'The code belongs to a deleted link.', null],
    ]);
    const failed = await imports.run(file, key, '?onConflict=fail');
    expect(failed.ended).to.include({ status: 'failed', created: 0, failed: 2 });
    const error = '2 rows conflict with existing links. No link was created.';
    expect(failed.ended.error).to.equal(error);
    expect((await bench.api(`/v2/links/${free}`, key)).status).to.equal(404);
    for (const [query, outcome] of [
      ...[['&dryRun=1', 'created'] as const, ['', 'created'] as const, ['', 'exists'] as const],
    ]) {
      const { rows } = await imports.run(file, key, `?onConflict=suffix${query}`);
      const expected = [`${taken}-3`, `${taken}-2-2`, free].map((code) => `${code} ${outcome}`);
      expect(outcomesOf({ rows })).to.deep.equal(expected);
      if (outcome === 'created') expect(rows[0]?.message).to.equal(`The code ${taken} was taken.`);
    }
  });

  it('with reserved codes only of operators or with an override', async () => {
    const file = csvFile(header, row('v9'));
    const refused = await imports.run(file, key);
    expect(outcomesOf(refused)).to.deep.equal(['v9 reserved']);
    expect(refused.rows[0]?.message).to.equal('The code is reserved.');
    const operator = await imports.run(file, null, `?account=${owner.account}`);
    expect(outcomesOf(operator)).to.deep.equal(['v9 created']);
    await bench.admin('PUT', '/admin/reserved-aliases/pricing/override', {
      account: owner.account,
    });
    const allowed = await imports.run(csvFile(header, row('pricing')), key);
    expect(outcomesOf(allowed)).to.deep.equal(['pricing created']);
  });

  it('with safe destinations, and with adapted texts and times', async () => {
    const file = csvFile(
      'code,url,title,createdAt,expiresAt',
      ...['imported-unsafe,https://evil.example/,,,'],
      `imported-long,${url},${'ä'.repeat(201)},2024-07-01 12:00:00,2099-01-01 00:00`,
      `imported-time,${url},,03/04/2025,`,
    );
    const { rows } = await imports.run(file, key, '?linkZone=Europe/Berlin');
    expect(rows.map(({ message }) => message)).to.deep.equal([
      'The destination is not safe.',
      'The title was cut to 200 characters.',
      'The value "03/04/2025" of "createdAt" is not a time. It was left out.',
    ]);
    expect(await imports.details('imported-long', key)).to.include({
      ...{ title: 'ä'.repeat(200), status: 'active', createdAt: '2024-07-01T10:00:00.000Z' },
      expiresAt: '2098-12-31T23:00:00.000Z',
    });
  });

  it('with their clicks, which an exact limit includes', async () => {
    const file = csvFile(
      'code,url,clicks,maxClicks,disabled',
      ...[`c-open,${url},7,9,`, `c-used,${url},10,10,`, `c-off,${url},3,,true`],
    );
    const { rows } = await imports.run(file, key);
    expect(outcomesOf({ rows })).to.deep.equal([
      ...['c-open created', 'c-used created', 'c-off disabled'],
    ]);
    // The statistics have the opening balance a moment after the link.
    await eventuallyPasses(async () => {
      for (const [code, expected] of [
        ['c-open', { clickCount: 7, maxClicks: 9, clicksLeft: 2, status: 'active' }],
        ['c-used', { clickCount: 10, clicksLeft: 0, status: 'expired' }],
        ['c-off', { status: 'disabled', clickCount: 3 }],
      ] as const) {
        expect(await imports.details(code, key)).to.include(expected);
      }
    });
    expect((await bench.visit('c-used')).status).to.equal(410);
    for (const status of [302, 302, 410]) {
      expect((await bench.visit('c-open')).status).to.equal(status);
    }
    await eventuallyPasses(async () => {
      const response = await bench.api('/v2/stats/c-open?include=countries', key);
      expect(response.json()).to.include({ clickCount: 9, importedClicks: 7 });
      expect((response.json() as StatsResponse).period).to.include({ clickCount: 2 });
    });
  });

  it('with LinkImported in the feed, and the key as actor', async () => {
    const createdAt = '2020-02-03T04:05:06.000Z';
    const file = csvFile('code,url,createdAt,clicks', `in-feed,${url},${createdAt},4`);
    const { ended } = await imports.run(file, key);
    await eventuallyPasses(async () => {
      const [event, ...more] = await readAll(key, 'shortCode=in-feed');
      expect(more).to.deep.equal([]);
      expect(event).to.deep.include({ actor: owner.id, account: owner.account });
      expect(event && nameOf(event)).to.equal('LinkImported');
      expect(event?.data).to.deep.include({
        ...{ url, createdAt, clicks: 4, visits: 0, source: 'csv', importId: ended.id },
      });
      expect(Date.parse(event?.time ?? '')).to.be.at.least(Date.parse(ended.startedAt));
    });
  });

  it('with the visits of YOURLS with visits=1, once, in place of clicks', async () => {
    const dump = [
      "INSERT INTO `yourls_log` VALUES (1,'2023-05-02 23:30:00','visited','direct','Mozilla/5.0 " +
        "(X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/112.0','203.0.113.7','DE')," +
        "(2,'2023-05-02 23:30:00','visited','https://news.example/?q=a','Googlebot/2.1','2001:db8::1'," +
        "''),(3,'2023-05-03 00:00:00','gone','direct','x','198.51.100.9','US');",
      "INSERT INTO `yourls_url` VALUES ('visited','https://example.org/','T'," +
        "'2023-05-01 08:00:00','203.0.113.7',17);",
    ].join('\n');
    const query = '?visits=1&visitZone=Europe/Berlin';
    const dry = await imports.run(dump, key, `${query}&dryRun=1`);
    expect(dry.ended).to.include({ visits: 0, created: 1, rows: 1 });
    const { ended } = await imports.run(dump, key, query);
    expect(ended).to.include({ status: 'done', format: 'yourls-sql', visits: 2, created: 1 });
    const check = async (): Promise<void> => {
      const range = 'from=2023-05-01&to=2023-05-04&include=all';
      const response = await bench.api(`/v2/stats/visited?${range}`, key);
      const stats = response.json() as StatsResponse;
      // The source has counted the visit of a bot.
      expect(stats).to.include({ importedClicks: 15, clickCount: 17, bots: 0 });
      expect(stats.period).to.include({ clickCount: 2 });
      const clicks = (value: string | null): object => ({ value, clicks: 1 });
      expect(stats.countries).to.have.deep.members([clicks('DE'), clicks(null)]);
      expect(stats.browsers).to.have.deep.members([clicks('Firefox'), clicks(null)]);
      const days = stats.timeseries?.filter((bucket) => bucket.clicks > 0);
      expect(days?.map(({ start }) => start.slice(0, 10))).to.deep.equal(['2023-05-02']);
    };
    await eventuallyPasses(check);
    const again = await imports.run(dump, key, query);
    expect(again.ended).to.include({ visits: 0, created: 0, existing: 1 });
    await check();
    const visits = await readAll(key, 'shortCode=visited&types=LinkVisited');
    expect(visits).to.have.length(2);
    for (const { data } of visits) expect(data).to.include({ visitor: null });
    expect(JSON.stringify(visits)).to.not.match(/203\.0\.113|2001:db8/);
  });
});
