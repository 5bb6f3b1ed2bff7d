import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { expectBody, expectError, sharedProduct } from './harness.js';

interface Page {
  readonly links: readonly { readonly shortCode: string; readonly [field: string]: unknown }[];
  readonly next: string | null;
}

const rules = [{ name: 'ios', when: { os: ['iOS'] }, url: 'https://apps.example/ios' }];

describe('GET /v2/links', () => {
  const bench = sharedProduct();
  let key: string;

  const ask = (query: string, as = key): Promise<HttpResponse> =>
    bench.api(`/v2/links${query}`, as);
  const page = async (query: string): Promise<Page> => {
    const response = await ask(query);
    expect(response.status, response.text).to.equal(200);
    return response.json() as Page;
  };
  const codes = async (query: string): Promise<readonly string[]> =>
    (await page(query)).links.map(({ shortCode }) => shortCode);
  const eventually = (query: string, expected: readonly string[]): Promise<void> =>
    eventuallyPasses(async () => {
      expect(await codes(query)).to.deep.equal(expected);
    });

  before(async () => {
    ({ key } = await bench.key('PRO', { account: 'lists' }));
    for (const [alias, more] of [
      ['list-first', { title: 'Grüße', tags: ['letter', 'sale'] }],
      ['list-second', { note: '100% _off_', tags: ['sale'] }],
      ['list-third', { url: 'https://BÜCHER.example:8443/a?b=c', expiresIn: 3_600 }],
      ['list-fourth', { url: 'https://example.com/Path', rules }],
    ] as const) {
      await bench.link(key, { alias, ...more });
    }
    const other = await bench.key('PRO', { account: 'others' });
    await bench.link(other.key, { alias: 'list-not-listed', tags: ['sale'] });
    await eventually('', ['list-fourth', 'list-third', 'list-second', 'list-first']);
  });

  it('lists the links of the account with their details, the newest first', async () => {
    const { links, next } = await page('');
    expect(next).to.equal(null);
    for (const link of links) {
      expect(link).to.deep.equal((await bench.api(`/v2/links/${link.shortCode}`, key)).json());
    }
  });

  it('counts the matches on request', async () => {
    const count = async (query: string): Promise<unknown> =>
      ((await ask(query)).json() as { readonly count?: unknown }).count;
    expect(await count('')).to.equal(undefined);
    expect(await count('?count=1&limit=1')).to.equal(4);
    expect(await count('?count=1&tag=sale&sort=clicks')).to.equal(2);
  });

  it('has the daily clicks on request, with the scope stats:read', async () => {
    const { key: own } = await bench.key('PRO', { account: 'daily-clicks' });
    const { shortCode } = await bench.link(own);
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, own, 1);
    const daily = async (query: string, as = own): Promise<unknown> =>
      ((await ask(query, as)).json() as Page).links[0]?.['dailyClicks'];
    await eventuallyPasses(async () => {
      const days = await daily('?dailyClicks=1');
      // The test may end on the day after the visit.
      expect(days).to.be.an('array').with.lengthOf(30);
      expect((days as number[]).slice(-2).reduce((sum, clicks) => sum + clicks)).to.equal(1);
    });
    expect(await daily('')).to.equal(undefined);
    const reader = await bench.key('PRO', { account: 'daily-clicks', scopes: ['links:read'] });
    expect(await daily('?dailyClicks=1', reader.key)).to.equal(undefined);
  });

  it('continues after the previous page, also when links are created meanwhile', async () => {
    const first = await page('?limit=3');
    expect(first.links.map(({ shortCode }) => shortCode)).to.deep.equal([
      ...['list-fourth', 'list-third', 'list-second'],
    ]);
    const created = await bench.link(key, { alias: 'list-meanwhile' });
    await eventually('?limit=1', [created.shortCode]);
    const next = `after=${first.next ?? ''}`;
    expect(await codes(`?${next}`)).to.deep.equal(['list-first']);
    const message = 'after must be the next of a page of the same query';
    expectError(await ask(`?${next}&tag=sale`), { status: 400, message, path: '/v2/links' });
    expect(
      (await bench.api(`/v2/links/list-meanwhile`, key, { method: 'DELETE' })).status,
    ).to.equal(204);
    await eventually('?limit=1', ['list-fourth']);
  });

  it('finds links by text, tags, any destination and creation time', async () => {
    const { links } = await page('?limit=1');
    const newest = encodeURIComponent(String(links[0]?.['createdAt']));
    for (const [query, expected] of [
      ['search=com%20path', ['list-fourth']],
      ['search=apps.exa', ['list-fourth']],
      [`search=${encodeURIComponent('gru\u0308\u00df')}`, ['list-first']],
      ['search=0%25%20_O', ['list-second']],
      ['search=f%25t', []],
      ['tag=sale,LETTER', ['list-first']],
      ['tag=sale&destination=example.com&search=fir', ['list-first']],
      ['destination=xn--bcher-kva.EXAMPLE', ['list-third']],
      ['destination=apps.example', ['list-fourth']],
      [`createdAfter=${newest}`, ['list-fourth']],
      ['createdBefore=2026-01-01&tz=Europe/Berlin', []],
      ['status=deleted', ['list-meanwhile']],
    ] as const) {
      expect(await codes(`?${query}`), query).to.deep.equal(expected);
    }
  });

  it('costs a call, and rejects invalid parameters', async () => {
    const { key: free } = await bench.key('FREE', { account: 'empty' });
    expectBody(await ask('', free), 200, { links: [], next: null });
    const message = 'limit must be between 1 and 100';
    expectError(await ask('?limit=101', free), { status: 400, message, path: '/v2/links' });
    expect(await bench.usage(free)).to.include({ calls: 2 });
  });

  describe('tags', () => {
    const tagsOf = (query: string, as = key): Promise<HttpResponse> =>
      bench.api(`/v2/tags${query}`, as);

    it('have the number of their links and clicks, in the spelling of the newest link', async () => {
      const { key: own } = await bench.key('PRO', { account: 'tagged' });
      const old = await bench.link(own, { tags: ['Spring', 'Summer'] });
      await bench.link(own, { tags: ['SPRING'] });
      const gone = await bench.link(own, { tags: ['gone'] });
      await bench.api(`/v2/links/${gone.shortCode}`, own, { method: 'DELETE' });
      await bench.visit(old.shortCode);
      const spring = { tag: 'SPRING', links: 2, clicks: 1 };
      const summer = { tag: 'Summer', links: 1, clicks: 1 };
      await eventuallyPasses(async () => {
        expectBody(await tagsOf('', own), 200, { tags: [spring, summer], next: null });
      });
      expectBody(await tagsOf('?search=SU', own), 200, { tags: [summer], next: null });
      expectBody(await tagsOf('?limit=1', own), 200, { tags: [spring], next: 'spring' });
    });
  });
});
