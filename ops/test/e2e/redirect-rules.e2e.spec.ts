import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import { type RequestOptions } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectRefused, keyFixture, sharedProduct } from './harness.js';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 ' +
  '(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';
const [american, german] = ['8.8.8.8', '193.99.144.80'];

/** A visitor behind the trusted proxy. */
const visitor = (address: string, agent = firefox, headers = {}): RequestOptions => ({
  headers: { 'X-Forwarded-For': address, 'User-Agent': agent, ...headers },
});

const rules: readonly RedirectRule[] = [
  { name: 'ios', when: { os: ['iOS'] }, url: 'https://apps.example/ios' },
  { name: 'de', when: { countries: ['DE'], languages: ['de'] }, url: 'https://example.com/de' },
  { name: 'past', when: { before: '2026-01-01T00:00:00.000Z' }, url: 'https://example.com/past' },
];
const split: RedirectRule = {
  ...{ name: 'test', when: {} },
  split: ['a', 'b', 'c'].map((name) => ({ name, url: `https://example.com/${name}`, weight: 1 })),
};

describe('redirect rules', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'redirect-rules' });

  const details = async (code: string): Promise<LinkDetails> =>
    (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
  const patch = async (code: string, body: object): Promise<object> =>
    (await bench.change(code, pro.key, body)).json() as object;
  const locationOf = async (code: string, options: RequestOptions): Promise<string> => {
    const response = await bench.visit(code, options);
    expect(response.status, response.text).to.be.oneOf([302, 303]);
    return response.headers.location ?? '';
  };
  const statsOf = async (code: string, include: string): Promise<StatsResponse> =>
    (await bench.api(`/v2/stats/${code}?include=${include}`, pro.key)).json() as StatsResponse;
  const targetsOf = async (code: string): Promise<ReadonlyMap<string | null, number>> => {
    const { targets = [], period } = await statsOf(code, 'targets');
    const sum = targets.reduce((clicks, entry) => clicks + entry.clicks, 0);
    expect(sum).to.equal(period?.clickCount);
    return new Map(targets.map(({ value, clicks }) => [value, clicks]));
  };

  it('are returned by POST, the batch, GET and PATCH; null and [] remove them', async () => {
    const link = await bench.link(pro.key, { rules, forwardQuery: true });
    expect(link).to.deep.include({ rules, forwardQuery: true });
    const code = link.shortCode;
    expect(await details(code)).to.deep.include({ rules, forwardQuery: true, version: 1 });
    for (const none of [null, []]) {
      const changed = await patch(code, { rules: none, forwardQuery: false });
      expect(changed).to.deep.include({ rules: null, forwardQuery: false });
      expect(await patch(code, { rules: [split] })).to.deep.include({ rules: [split] });
    }
    const batch = await bench.api('/v2/shorten/batch', pro.key, {
      ...{ method: 'POST', body: { urls: [{ url: destination, rules }] } },
    });
    expect(batch.json()).to.have.nested.property('results[0].rules').that.deep.equals(rules);
    const history = await bench.api(`/v2/links/${code}/history`, pro.key);
    const { events } = history.json() as { events: readonly { readonly data: object }[] };
    expect(events[0]?.data).to.deep.include({ rules });
    expect(events[1]?.data).to.deep.equal({ rules: null, forwardQuery: false });
  });

  it('are rejected with the path of the invalid value', async () => {
    const { shortCode } = await bench.link(pro.key);
    const loop = { name: 'loop', when: {}, url: `${bench.product.edge}/abc` };
    const body = { url: destination, rules: [...rules, loop] };
    const message = 'rules[3].url: Please provide a valid URL';
    expectRefused(await bench.shorten(pro.key, body), 400, message, { reason: 'ownHost' });
    expect(await patch(shortCode, body)).to.include({ statusCode: 400, message });
  });

  it('redirect to the first rule that matches, otherwise to the url, and count each target', async () => {
    const { shortCode: code } = await bench.link(pro.key, { rules });
    const language = { 'Accept-Language': 'de-DE,de;q=0.9' };
    const expected: readonly (readonly [RequestOptions, string])[] = [
      [visitor(german, iphone, language), 'https://apps.example/ios'],
      [visitor(german, firefox, language), 'https://example.com/de'],
      [visitor(german, firefox, { ...language, 'Sec-GPC': '1' }), 'https://example.com/de'],
      [visitor(german), destination],
      [visitor(american, firefox, language), destination],
      [visitor('', ''), destination],
    ];
    for (const [options, url] of expected) {
      expect(await locationOf(code, options)).to.equal(url);
      expect(await locationOf(code, { ...options, method: 'HEAD' })).to.equal(url);
    }
    const targets = new Map<string | null, number>([[null, 3] as const, ['de', 2], ['ios', 1]]);
    await eventuallyPasses(async () => {
      expect(await targetsOf(code)).to.deep.equal(targets);
    });
    // A visitor who opts out of tracking is redirected by country and language; neither is recorded.
    const { countries = [] } = await statsOf(code, 'countries');
    expect(countries.find(({ value }) => value === 'DE')?.clicks).to.equal(3);
  });
});
