import { expect } from 'chai';
import type { AccountStatsResponse, StatsResponse } from '../../../schemas/http/statistics.js';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import { eventuallyPasses } from '../support/waiting.js';
import { keyFixture, sharedProduct } from './harness.js';

const spring = 'https://shop.example.com/?utm_campaign=Spring+50%25&utm_source=news&utm_medium=';
const rules: readonly RedirectRule[] = [
  { name: 'mail', when: { query: { m: '*' } }, url: 'https://www.example.com/?utm_source=mail' },
];
const none = { campaign: null, source: null, medium: null };
const ofSpring = { campaign: 'Spring 50%', source: 'news', medium: '' };
const ofMail = { ...none, source: 'mail' };

describe('statistics by tag and campaign', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'statistics-by-tag' });
  /** By name: short code, and visited paths behind it. */
  const codes: Record<string, string> = {};

  const statsOf = async (
    query: string,
    code = '',
  ): Promise<AccountStatsResponse & StatsResponse> => {
    const response = await bench.api(`/v2/stats${code && `/${code}`}?${query}`, pro.key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as AccountStatsResponse & StatsResponse;
  };
  const refusal = async (query: string): Promise<string> => {
    const response = await bench.api(`/v2/stats?${query}`, pro.key);
    expect(response.status).to.equal(400);
    return (response.json() as { readonly message: string }).message;
  };

  before(async () => {
    const links = {
      both: { url: spring, tags: ['Spring', 'shop'], rules, forwardQuery: true },
      shop: { url: 'https://shop.example.com/plain', tags: ['shop'] },
      untagged: { url: 'https://www.example.com/', title: 'Spring without a tag' },
      gone: { url: spring, tags: ['Spring'] },
    };
    const visits = {
      both: ['', '', '?utm_source=visitor', '?m=1&utm_campaign=visitor'],
      shop: ['', ''],
      untagged: [''],
      gone: [''],
    };
    for (const [name, body] of Object.entries(links)) {
      const { shortCode } = await bench.link(pro.key, body);
      codes[name] = shortCode;
      for (const query of visits[name as keyof typeof visits]) {
        expect((await bench.visit(`${shortCode}${query}`)).status).to.equal(302);
      }
    }
    await eventuallyPasses(async () => {
      expect((await statsOf('')).clickCount).to.equal(8);
    });
    const path = `/v2/links/${codes['gone'] ?? ''}`;
    expect((await bench.api(path, pro.key, { method: 'DELETE' })).status).to.equal(204);
    await eventuallyPasses(async () => {
      expect((await statsOf('tag=spring')).linkCount).to.equal(1);
      expect((await statsOf('tag=shop')).linkCount).to.equal(2);
      expect((await statsOf('destination=www.example.com')).linkCount).to.equal(2);
    });
  });

  it('have the clicks of each tag; a link with two tags counts in both', async () => {
    const tags = (...values: readonly (readonly [string, number])[]) => ({
      overlapping: true,
      values: values.map(([value, clicks]) => ({ value, clicks })),
    });
    expect((await statsOf('include=tags')).tags).to.deep.equal(tags(['shop', 6], ['Spring', 4]));
    expect((await statsOf('include=tags&limit=1')).tags).to.deep.equal(tags(['shop', 6]));
    const filtered = await statsOf('include=tags&destination=www.example.com');
    expect(filtered.tags).to.deep.equal(tags(['shop', 4], ['Spring', 4]));
    expect(await statsOf('include=all')).to.not.have.any.keys('tags', 'links');
  });

  it('have the campaigns of the destination at the time of the visit, rules included', async () => {
    const { campaigns } = await statsOf('include=campaigns', codes['both']);
    expect(campaigns).to.deep.equal([
      { ...ofSpring, clicks: 3 },
      { ...ofMail, clicks: 1 },
    ]);
    const change = { url: 'https://shop.example.com/later' };
    expect((await bench.change(codes['shop'] ?? '', pro.key, change)).status).to.equal(200);
    const ofAccount = await statsOf('include=campaigns');
    expect(ofAccount.campaigns).to.deep.equal([
      { ...ofSpring, clicks: 4 },
      { ...none, clicks: 3 },
      { ...ofMail, clicks: 1 },
    ]);
    const limited = await statsOf('include=campaigns&limit=1');
    expect(limited.campaigns?.at(-1)).to.deep.equal({ ...none, campaign: '(other)', clicks: 4 });
  });

  it('have campaigns and tags as CSV', async () => {
    const csvOf = async (query: string): Promise<string> => {
      const headers = { Accept: 'text/csv' };
      return (await bench.api(`/v2/stats?${query}`, pro.key, { headers })).text;
    };
    expect(await csvOf('include=campaigns&tag=spring')).to.equal(
      'campaign,source,medium,clicks\r\nSpring 50%,news,,3\r\n,mail,,1\r\n',
    );
    expect(await csvOf('include=tags')).to.equal('value,clicks\r\nshop,6\r\nSpring,4\r\n');
  });

  it('of a link have its codes as subjects', async () => {
    const { codes: list } = await statsOf('include=codes', codes['shop']);
    expect(list).to.deep.equal([{ value: codes['shop'], clicks: 2 }]);
    expect(await refusal('include=codes')).to.match(/^include must be all, or some of timeseries/);
    expect(await statsOf('include=all', codes['shop'])).to.include.keys('codes', 'campaigns');
  });
});
