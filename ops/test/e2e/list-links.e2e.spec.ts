import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectBody, expectError, lacking, sharedProduct } from './harness.js';

interface Page {
  readonly links: readonly { readonly shortCode: string; readonly [field: string]: unknown }[];
  readonly next: string | null;
}

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
      ['list-fourth', { url: 'https://example.com/Path' }],
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
    const { next } = await page('?limit=3');
    expect(await count(`?count=1&after=${next ?? ''}`)).to.equal(4);
    const message = 'count must be 1';
    expectError(await ask('?count=2'), { status: 400, message, path: '/v2/links' });
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
    for (const query of [`?${next}&tag=sale`, `?${next}&sort=clicks`, `?${next}x`, '?after=x']) {
      const message = 'after must be the next of a page of the same query';
      expectError(await ask(query), { status: 400, message, path: '/v2/links' });
    }
    expect(
      (await bench.api(`/v2/links/list-meanwhile`, key, { method: 'DELETE' })).status,
    ).to.equal(204);
    await eventually('?limit=1', ['list-fourth']);
  });

  it('finds parts of code, destination, title or note in any case, without wildcards', async () => {
    for (const [search, expected] of [
      ['FOUR', ['list-fourth']],
      ['com path', ['list-fourth']],
      ['gru\u0308\u00df', ['list-first']],
      ['0% _O', ['list-second']],
      ['f%t', []],
    ] as const) {
      expect(await codes(`?search=${encodeURIComponent(search)}`), search).to.deep.equal(expected);
    }
  });

  it('finds links by tags, by the host of their destination, and by both', async () => {
    const host = new URL(destination).hostname;
    expect(await codes('?tag=sale')).to.deep.equal(['list-second', 'list-first']);
    expect(await codes('?tag=sale,LETTER')).to.deep.equal(['list-first']);
    expect(await codes(`?tag=sale&destination=${host}&search=fir`)).to.deep.equal(['list-first']);
    expect(await codes('?destination=xn--bcher-kva.EXAMPLE')).to.deep.equal(['list-third']);
  });

  it('finds links by their creation time', async () => {
    const { links } = await page('?limit=2');
    const [newest, second] = links.map(({ createdAt }) => encodeURIComponent(String(createdAt)));
    expect(await codes(`?createdAfter=${newest ?? ''}`)).to.deep.equal(['list-fourth']);
    expect(await codes(`?createdBefore=${second ?? ''}`)).to.deep.equal([
      'list-second',
      'list-first',
    ]);
    expect(await codes('?createdAfter=2026-01-01&tz=Europe/Berlin')).to.have.lengthOf(4);
    expect(await codes('?createdBefore=2026-01-01')).to.deep.equal([]);
  });

  it('lists links by status, and deleted links only by status', async () => {
    const change = (code: string, method: string, body?: object): Promise<HttpResponse> =>
      bench.api(`/v2/links/${code}`, key, { method, ...(body && { body }) });
    await bench.link(key, { alias: 'list-deleted-one', tags: ['gone'] });
    await bench.link(key, { alias: 'list-disabled-one', tags: ['gone'] });
    expect((await change('list-deleted-one', 'DELETE')).status).to.equal(204);
    expect((await change('list-disabled-one', 'PATCH', { disabled: true })).status).to.equal(200);
    await eventually('?tag=gone', ['list-disabled-one']);
    await eventually('?status=deleted', ['list-deleted-one', 'list-meanwhile']);
    expect(await codes('?status=deleted&tag=gone&search=DEL')).to.deep.equal(['list-deleted-one']);
    await eventually('?status=disabled', ['list-disabled-one']);
    expect(await codes('?status=blocked')).to.deep.equal([]);
    expect(await codes('?status=active')).to.deep.equal([
      'list-fourth',
      'list-third',
      'list-second',
      'list-first',
    ]);
    await bench.admin('POST', '/admin/links/list-second/block', { reason: 'a test' });
    await eventually('?status=blocked', ['list-second']);
    await bench.admin('POST', '/admin/links/list-second/unblock', { reason: 'a test' });
    await eventually('?status=blocked', []);
  });

  it('sorts by clicks; links without clicks come last, the newest first', async () => {
    for (const [code, clicks] of [
      ['list-first', 3],
      ['list-third', 1],
    ] as const) {
      for (let click = 0; click < clicks; click += 1) await bench.visit(code);
    }
    await eventuallyPasses(async () => {
      const { links } = await page('?sort=clicks&status=active');
      expect(
        links.map(({ shortCode, clickCount }) => `${shortCode} ${String(clickCount)}`),
      ).to.deep.equal(['list-first 3', 'list-third 1', 'list-fourth 0', 'list-second 0']);
    });
    const { links, next } = await page('?sort=clicks&limit=1&status=active');
    expect(links[0]).to.include({ shortCode: 'list-first', clickCount: 3 });
    const rest = `?sort=clicks&status=active&after=${next ?? ''}`;
    expect(await codes(rest)).to.deep.equal(['list-third', 'list-fourth', 'list-second']);
    expect(await codes('?sort=clicks&tag=sale')).to.deep.equal(['list-first', 'list-second']);
  });

  it('needs links:read, costs a call, and rejects invalid parameters', async () => {
    const { key: none } = await bench.key('PRO', { scopes: ['links:write'] });
    expectBody(await ask('?limit=0', none), 403, lacking('links:read'));
    const { key: free } = await bench.key('FREE', { account: 'empty' });
    expectBody(await ask('', free), 200, { links: [], next: null });
    for (const [query, message] of [
      ['?limit=101', 'limit must be between 1 and 100'],
      ['?sort=title', 'sort must be one of created, clicks'],
      ['?destination=a/b', 'destination must be a host, such as example.com'],
    ] as const) {
      expectError(await ask(query, free), { status: 400, message, path: '/v2/links' });
    }
    expect(await bench.usage(free)).to.include({ calls: 4 });
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
      const rest = { tags: [summer], next: null };
      expectBody(await tagsOf('?limit=1&after=spring', own), 200, rest);
      expectBody(await tagsOf('?search=autumn', own), 200, { tags: [], next: null });
    });

    it('are those of the account, and need links:read', async () => {
      const { tags } = (await tagsOf('')).json() as {
        readonly tags: readonly { readonly tag: string; readonly links: number }[];
      };
      const counts = tags.map(({ tag, links }) => [tag, links]);
      expect(counts).to.deep.include(['letter', 1]).and.to.deep.include(['sale', 2]);
      expect(tags.map(({ tag }) => tag)).not.to.include('Summer');
      const { key: other } = await bench.key('PRO', { account: 'lists', scopes: ['stats:read'] });
      expectBody(await tagsOf('', other), 403, lacking('links:read'));
    });
  });
});
