import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectBody, expectError, lacking, sharedProduct } from './harness.js';

interface Page {
  readonly links: readonly { readonly shortCode: string; readonly [field: string]: unknown }[];
  readonly next: string | null;
}

describe('command API: GET /v2/links', () => {
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
      ['first', { title: 'Grüße', tags: ['letter', 'sale'] }],
      ['second', { note: '100% _off_', tags: ['sale'] }],
      ['third', { url: 'https://BÜCHER.example:8443/a?b=c', expiresIn: 3_600 }],
      ['fourth', { url: 'https://example.com/Path' }],
    ] as const) {
      await bench.link(key, { alias, ...more });
    }
    const other = await bench.key('PRO', { account: 'others' });
    await bench.link(other.key, { alias: 'not-listed', tags: ['sale'] });
    await eventually('', ['fourth', 'third', 'second', 'first']);
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
    expect(await count('?count=1&search=nothing')).to.equal(0);
    const { next } = await page('?limit=3');
    expect(await count(`?count=1&after=${next ?? ''}`)).to.equal(4);
    const message = 'count must be 1';
    expectError(await ask('?count=2'), { status: 400, message, path: '/v2/links' });
  });

  it('continues after the previous page, also when links are created meanwhile', async () => {
    const first = await page('?limit=3');
    expect(first.links.map(({ shortCode }) => shortCode)).to.deep.equal([
      ...['fourth', 'third', 'second'],
    ]);
    const created = await bench.link(key, { alias: 'meanwhile' });
    await eventually('?limit=1', [created.shortCode]);
    const next = `after=${first.next ?? ''}`;
    expect(await codes(`?${next}`)).to.deep.equal(['first']);
    for (const query of [`?${next}&tag=sale`, `?${next}&sort=clicks`, `?${next}x`, '?after=x']) {
      const message = 'after must be the next of a page of the same query';
      expectError(await ask(query), { status: 400, message, path: '/v2/links' });
    }
    expect((await bench.api(`/v2/links/meanwhile`, key, { method: 'DELETE' })).status).to.equal(
      204,
    );
    await eventually('?limit=1', ['fourth']);
  });

  it('finds parts of code, destination, title or note in any case, without wildcards', async () => {
    for (const [search, expected] of [
      ['FOUR', ['fourth']],
      ['com/PATH', ['fourth']],
      ['GRÜSSE', ['first']],
      ['gRÜß', ['first']],
      ['0% _O', ['second']],
      ['f%t', []],
      ['f_r', []],
      ['com path', ['fourth']],
      ['letter gr\u00fcss', ['first']],
      ['gru\u0308\u00df', ['first']],
      ['grusse', []],
      ['_O', ['second']],
      ['://', ['fourth', 'third', 'second', 'first']],
      ['\\\\\\', []],
    ] as const) {
      expect(await codes(`?search=${encodeURIComponent(search)}`), search).to.deep.equal(expected);
    }
  });

  it('finds links by tags, by the host of their destination, and by both', async () => {
    const host = new URL(destination).hostname;
    expect(await codes('?tag=sale')).to.deep.equal(['second', 'first']);
    expect(await codes('?tag=sale&tag=letter')).to.deep.equal(['first']);
    expect(await codes('?tag=sale,LETTER')).to.deep.equal(['first']);
    expect(await codes('?tag=Sale')).to.deep.equal(['second', 'first']);
    expect(await codes('?tag=sal')).to.deep.equal([]);
    expect(await codes(`?tag=sale&destination=${host}&search=fir`)).to.deep.equal(['first']);
    for (const spelling of ['b%C3%BCcher.example', 'xn--bcher-kva.EXAMPLE']) {
      expect(await codes(`?destination=${spelling}`), spelling).to.deep.equal(['third']);
    }
    expect(await codes('?destination=example')).to.deep.equal([]);
  });

  it('finds links by their creation time', async () => {
    const { links } = await page('?limit=2');
    const [newest, second] = links.map(({ createdAt }) => encodeURIComponent(String(createdAt)));
    expect(await codes(`?createdAfter=${newest ?? ''}`)).to.deep.equal(['fourth']);
    expect(await codes(`?createdBefore=${second ?? ''}`)).to.deep.equal(['second', 'first']);
    expect(await codes('?createdAfter=2026-01-01&tz=Europe/Berlin')).to.have.lengthOf(4);
    expect(await codes('?createdBefore=2026-01-01')).to.deep.equal([]);
  });

  it('lists links by status, and deleted links only by status', async () => {
    const change = (code: string, method: string, body?: object): Promise<HttpResponse> =>
      bench.api(`/v2/links/${code}`, key, { method, ...(body && { body }) });
    await bench.link(key, { alias: 'deleted-one', tags: ['gone'] });
    await bench.link(key, { alias: 'disabled-one', tags: ['gone'] });
    expect((await change('deleted-one', 'DELETE')).status).to.equal(204);
    expect((await change('disabled-one', 'PATCH', { disabled: true })).status).to.equal(200);
    await eventually('?tag=gone', ['disabled-one']);
    await eventually('?status=deleted', ['deleted-one', 'meanwhile']);
    expect(await codes('?status=deleted&tag=gone&search=DEL')).to.deep.equal(['deleted-one']);
    await eventually('?status=disabled', ['disabled-one']);
    expect(await codes('?status=blocked')).to.deep.equal([]);
    expect(await codes('?status=active')).to.deep.equal(['fourth', 'third', 'second', 'first']);
    await bench.admin('POST', '/admin/links/second/block', { reason: 'a test' });
    await eventually('?status=blocked', ['second']);
    await bench.admin('POST', '/admin/links/second/unblock', { reason: 'a test' });
    await eventually('?status=blocked', []);
  });

  it('sorts by clicks; links without clicks come last, the newest first', async () => {
    for (const [code, clicks] of [
      ['first', 3],
      ['third', 1],
    ] as const) {
      for (let click = 0; click < clicks; click += 1) await bench.visit(code);
    }
    await eventuallyPasses(async () => {
      const { links } = await page('?sort=clicks&status=active');
      expect(
        links.map(({ shortCode, clickCount }) => `${shortCode} ${String(clickCount)}`),
      ).to.deep.equal(['first 3', 'third 1', 'fourth 0', 'second 0']);
    });
    const { links, next } = await page('?sort=clicks&limit=1&status=active');
    expect(links[0]).to.include({ shortCode: 'first', clickCount: 3 });
    const rest = `?sort=clicks&status=active&after=${next ?? ''}`;
    expect(await codes(rest)).to.deep.equal(['third', 'fourth', 'second']);
    expect(await codes('?sort=clicks&tag=sale')).to.deep.equal(['first', 'second']);
  });

  it('needs links:read, costs a call, and rejects invalid parameters', async () => {
    const { key: none } = await bench.key('PRO', { scopes: ['links:write'] });
    expectBody(await ask('?limit=0', none), 403, lacking('links:read'));
    const { key: free } = await bench.key('FREE', { account: 'empty' });
    expectBody(await ask('', free), 200, { links: [], next: null });
    for (const [query, message] of [
      ['?limit=0', 'limit must be between 1 and 100'],
      ['?limit=101', 'limit must be between 1 and 100'],
      ['?sort=title', 'sort must be one of created, clicks'],
      [
        '?status=gone',
        'status must be one of deleted, blocked, disabled, expired, scheduled, active',
      ],
      [
        '?search=ab+c',
        'search must have at most 100 characters, in terms of at least 2 characters with white space between them, no control characters but tabs and line ends',
      ],
      [
        '?createdAfter=2026-11-22T09:30',
        'createdAfter must be a time in ISO 8601 with an offset, or a date, such as 2026-11-22T09:30:00+05:45 or 2026-11-22',
      ],
      ['?destination=a/b', 'destination must be a host, such as example.com'],
    ] as const) {
      expectError(await ask(query, free), { status: 400, message, path: '/v2/links' });
    }
    expect(await bench.usage(free)).to.include({ calls: 8 });
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
