import { expect } from 'chai';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { concurrently, type HttpResponse } from '../support/http.js';
import {
  destination,
  expectBody,
  expectError,
  expectRefused,
  keyFixture,
  sharedProduct,
  timestampPattern,
  upgradeUrl,
  type Link,
} from './harness.js';

const json = { 'Content-Type': 'application/json' };
const invalidUrl = 'Please provide a valid URL';
const invalidJson = 'Invalid JSON body';
const taken = 'Alias is already taken';
const tooLarge = 'Request body is too large';
const wrongType = 'Content-Type must be application/json';

describe('POST /v2/shorten', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'shorten' });

  const shorten = (body: unknown, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    bench.shorten(pro.key, body, headers);
  const post = (path: string, body: unknown): Promise<HttpResponse> =>
    bench.api(path, pro.key, { method: 'POST', body, headers: json });
  const ignoredFields = ({ headers }: HttpResponse): unknown => headers['linklog-ignored-fields'];

  it('returns exactly the fields that are set', async () => {
    const response = await shorten({ url: ` \n${destination}\t`, alias: null, code: 'mine' });
    const link = response.json() as Link;
    const { shortCode, createdAt } = link;
    // The default of SHORT_URL_HOST.
    const host = `http://localhost:${new URL(bench.product.edge).port}`;
    expect(link).to.deep.equal({
      ...{ shortUrl: `${host}/${shortCode}`, shortCode, url: destination, createdAt },
    });
    expect(shortCode).to.match(/^[0-9A-Za-z]{8}$/);
    expect(createdAt).to.match(timestampPattern);
    expect(Math.abs(Date.parse(createdAt) - Date.now())).to.be.below(10_000);
    const options = { alias: 'Shorten-all_of_it', maxClicks: 7, title: 'x', tags: ['a'] };
    const full = await bench.link(pro.key, { ...options, expiresIn: 3_600 });
    expect(full).to.deep.equal({
      ...{ shortUrl: `${host}/${options.alias}`, shortCode: options.alias, url: destination },
      expiresAt: new Date(Date.parse(full.createdAt) + 3_600_000).toISOString(),
      ...{ ...options, createdAt: full.createdAt },
    });
  });

  it('stores a destination exactly as sent', async () => {
    for (const url of [
      'hTTp://EXAMPLE.com:8080/a/../b?q=%20&r=a+b#fragment',
      'https://bücher.example/straße?q=ä',
      'https://example.com/'.padEnd(2_048, 'x'),
    ]) {
      const link = await bench.link(pro.key, { url });
      expect([link.url, (await bench.stats(link.shortCode, pro.key)).url]).to.deep.equal([
        url,
        url,
      ]);
    }
  });

  it('returns the reason of an invalid URL, also in a batch and for a change', async () => {
    const { shortCode } = await bench.link(pro.key);
    for (const [url, reason] of [
      [undefined, 'missing'],
      ['example.com', 'scheme'],
      ['https://a@example.com/', 'userinfo'],
      ['https://example.com/a\\b', 'backslash'],
      ['https://exam ple.com/', 'whitespace'],
      ['https://a\u200cb.example/', 'host'],
      [`${bench.product.edge}/abc`, 'ownHost'],
      ['https://example.com/'.padEnd(2_049, 'x'), 'tooLong'],
    ] as const) {
      const message = reason === 'tooLong' ? 'URL must be at most 2048 characters' : invalidUrl;
      expectRefused(await shorten({ url }), 400, message, { reason });
      const { results } = (await post('/v2/shorten/batch', { urls: [{ url }] })).json() as {
        readonly results: readonly object[];
      };
      expect(results[0]).to.include({ statusCode: 400, message, reason });
      if (url === undefined) continue;
      const changed = await bench.change(shortCode, pro.key, { url });
      expect(changed.json()).to.include({ statusCode: 400, message, reason });
    }
  });

  it('rejects each field with its message', async () => {
    for (const [fields, message] of [
      [{ alias: 'ab' }, 'Alias must be between 3 and 50 characters'],
      [{ alias: 'paypa1' }, 'This alias is reserved and cannot be used'],
      [{ password: 'abc' }, 'Password must be between 4 and 100 characters'],
      [{ expiresIn: 59 }, 'expiresIn must be at least 60 seconds (1 minute)'],
      [
        { expiresIn: 90, expiresAt: '2030-01-01T00:00:00Z' },
        'Give expiresIn or expiresAt, not both',
      ],
      [{ maxClicks: 0 }, 'maxClicks must be at least 1'],
      [{ reuse: true, title: 'x' }, 'reuse can only be combined with url and domain'],
    ] as const) {
      expectRefused(await shorten({ url: destination, ...fields }), 400, message);
    }
  });

  it('rejects an alias that is or was in use, in any account, but distinguishes case', async () => {
    const { key: other } = await bench.key('HOBBY', { account: 'shorten-other' });
    const alias = 'Shorten-In-Use';
    await bench.link(pro.key, { alias, maxClicks: 1 });
    for (const status of [302, 410]) {
      expectRefused(await shorten({ url: destination, alias }), 400, taken);
      expectRefused(await bench.shorten(other, { url: destination, alias }), 400, taken);
      expect((await bench.visit(alias)).status).to.equal(status);
    }
    const { shortCode: generated } = await bench.link(pro.key);
    expectRefused(await shorten({ url: destination, alias: generated }), 400, taken);
    const lower = alias.toLowerCase();
    expect((await bench.visit(lower)).status).to.equal(404);
    await bench.link(other, { alias: lower });
    expect((await bench.visit(lower)).headers.location).to.equal(destination);
  });

  it('requires the HOBBY plan for an alias', async () => {
    const { key } = await bench.key('FREE', { account: 'shorten' });
    expectBody(await bench.shorten(key, { url: destination, alias: 'not-on-free' }), 403, {
      statusCode: 403,
      message: 'Custom aliases require the HOBBY plan or higher.',
      error: 'Forbidden',
      ...{ feature: 'customAlias', currentPlan: 'FREE', upgradeUrl },
    });
    expect((await bench.visit('not-on-free')).status).to.equal(404);
  });

  describe('reads a body', () => {
    const url = `"url":"${destination}"`;
    const nested = (levels: number): string =>
      `{${url},"a":${'['.repeat(levels - 1)}"[{"${']'.repeat(levels - 1)}}`;
    const padded = (bytes: number): string => `{${url}}`.padEnd(bytes);
    const text = `{${url}}`;
    const latin1 = Buffer.from(`{"url":"${destination}","title":"\xfc"}`, 'latin1');
    const encoded = (encoding: string) => ({ ...json, 'Content-Encoding': encoding });
    const chunked = { ...json, 'Transfer-Encoding': 'chunked' };

    for (const [what, body, headers, status, message] of [
      ['of any spelling of the type', text, { 'Content-Type': 'Application/Json ; a=b' }, 201],
      ['with a charset', text, { 'Content-Type': 'application/json; charset="UTF-8"' }, 201],
      ['of another type', text, { 'Content-Type': 'text/plain' }, 415, wrongType],
      ['without a type', text, {}, 415, wrongType],
      [
        ...([
          'in another charset',
          text,
          { 'Content-Type': 'application/json; charset=latin1' },
        ] as const),
        ...([415, 'The charset of Content-Type must be utf-8'] as const),
      ],
      ['that is not UTF-8', latin1, json, 400, invalidJson],
      ['that is malformed', '{"url":"a"}}', json, 400, invalidJson],
      ['that is no object', '["https://example.com/"]', json, 400, invalidUrl],
      ['that is empty', '', json, 400, invalidUrl],
      [
        ...(['with a disallowed property', `{${url},"a":[{"\\u005f_proto__":0}]}`, json] as const),
        ...([400, 'property __proto__ should not exist'] as const),
      ],
      ['of 32 levels', nested(32), json, 201],
      ['of 33 levels', nested(33), json, 400, invalidJson],
      ['in gzip', gzipSync(text), encoded('gzip'), 201],
      ['in brotli', brotliCompressSync(text), encoded('br'), 201],
      ['in damaged gzip', gzipSync(text).subarray(0, -9), encoded('gzip'), 400, invalidJson],
      ['in another encoding', text, encoded('rot13'), 415, wrongType],
      ['of 64 KiB', padded(65_536), json, 201],
      ['of 64 KiB in chunks', padded(65_536), chunked, 201],
      ['of more than 64 KiB', padded(65_537), json, 413, tooLarge],
      ['of more than 64 KiB in chunks', padded(65_537), chunked, 413, tooLarge],
      ['of more than 64 KiB in gzip', gzipSync(padded(65_537)), encoded('gzip'), 413, tooLarge],
    ] as const) {
      it(`${what}: ${status}`, async () => {
        const response = await bench.shorten(pro.key, body, headers);
        if (message === undefined) expect(response.status, response.text).to.equal(status);
        else expectRefused(response, status, message);
      });
    }
  });

  it('names ignored fields in its response, also if it is replayed', async () => {
    const body = { expiresAt2: 1, url: destination, 'tag,': null, '\u00fc': {}, maxClicks: null };
    for (const replayed of [undefined, 'true']) {
      const response = await shorten(body, { 'Idempotency-Key': 'shorten-ignored' });
      expect(ignoredFields(response)).to.equal('expiresAt2, tag%2C, %C3%BC');
      expect(response.headers['idempotency-replayed']).to.equal(replayed);
    }
    expect(ignoredFields(await shorten({ url: 'x', color: 1 }))).to.equal(undefined);
    const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
    const many = Object.fromEntries(names.map((name) => [name, 1]));
    expect(ignoredFields(await shorten({ url: destination, ...many }))).to.equal(
      names.slice(0, 10).join(', '),
    );
    const long = { ['\u{1f600}'.repeat(1_000)]: 1, '\ud800': 2 };
    expect(ignoredFields(await shorten({ url: destination, ...long }))).to.equal(
      `${'%F0%9F%98%80'.repeat(50)}, %EF%BF%BD`,
    );
  });

  it('is one of the calls that name ignored fields', async () => {
    const { key, account } = pro;
    const { shortCode } = await bench.link(key);
    const change = { disabled: false, title: 'a' };
    for (const [path, body, ignored] of [
      ['/v2/shorten/batch', { urls: [{ url: destination, a: 1 }], colour: 2 }, 'colour'],
      ['/v2/links/bulk', { shortCodes: [shortCode], change, dryRun: 1 }, 'change.title, dryRun'],
      ['/v2/keys', { name: 'a', plan: 'FREE' }, 'plan'],
    ] as const) {
      expect(ignoredFields(await post(path, body)), path).to.equal(ignored);
    }
    const patched = await bench.change(shortCode, key, { title: 'a', tag: 'b' });
    expect(ignoredFields(patched)).to.equal('tag');
    const root = { name: 'a', plan: 'FREE', account, scope: [] };
    expect(ignoredFields(await bench.admin('POST', '/admin/keys', root))).to.equal('scope');
  });

  it('is one of the calls that store texts trimmed and in NFC', async () => {
    const texts = {
      title: ' Bu\u0308cher ',
      note: '\nu\u0308ber\n',
      tags: [' o\u0308l', '\u00f6l '],
    };
    const stored = { title: 'B\u00fccher', note: '\u00fcber', tags: ['\u00f6l'] };
    expect(await bench.link(pro.key, texts)).to.deep.include(stored);
    const { shortCode } = await bench.link(pro.key);
    const patched = await bench.change(shortCode, pro.key, texts);
    expect(patched.json()).to.deep.include(stored);
    const change = { removeTags: ['o\u0308l '] };
    const bulk = await post('/v2/links/bulk', { shortCodes: [shortCode], change });
    expect(bulk.json()).to.have.nested.property('results[0].tags').that.deep.equals([]);
    const created = await post('/v2/keys', { name: ' Gro\u0308\u00dfe ' });
    expect(created.json()).to.include({ name: 'Gr\u00f6\u00dfe' });
    const root = { name: ' a\u0308 ', plan: 'FREE', account: 'shorten' };
    expect((await bench.admin('POST', '/admin/keys', root)).json()).to.include({ name: '\u00e4' });
  });

  it('is one of the calls whose query must be UTF-8', async () => {
    for (const [path, name] of [
      ['/v2/links?limit=1&search=M%FCnchen', 'search'],
      ['/v2/stats?tz=%ED%A0%80', 'tz'],
      ['/v2/keys?after=%FF', 'after'],
      ['/v2/stats/some-code?unknown=%FF', 'unknown'],
    ] as const) {
      const [requested = ''] = path.split('?');
      const message = `${name} must be UTF-8`;
      expectError(await bench.api(path, pro.key), { status: 400, message, path: requested });
    }
    const admin = await bench.admin('GET', '/admin/keys?limit=%FF');
    expect(admin.json()).to.include({ statusCode: 400, message: 'limit must be UTF-8' });
  });

  describe('with reuse', () => {
    let urls = 0;
    const newUrl = (): string => {
      urls += 1;
      return `https://example.com/reuse/${urls}`;
    };
    const reuse = (url: string, headers: Record<string, string> = {}): Promise<HttpResponse> =>
      shorten({ url, reuse: true }, headers);
    const expectReused = (response: HttpResponse, link: Link): void => {
      expect(response.status, response.text).to.equal(200);
      expect(response.headers['linklog-reused']).to.equal('true');
      expect(response.json()).to.deep.equal(link);
    };

    it('creates a link if there is none, and returns the oldest one afterwards', async () => {
      const url = newUrl();
      const first = await reuse(url);
      expect(first.status).to.equal(201);
      expect(first.headers).to.not.have.property('linklog-reused');
      await bench.link(pro.key, { url });
      const { links } = await bench.usage(pro.key);
      expectReused(await reuse(url), first.json() as Link);
      expect(await bench.usage(pro.key)).to.include({ links });
      expect((await reuse(`${url}?`)).status).to.equal(201);
    });

    it('creates one link for 40 concurrent requests', async () => {
      const url = newUrl();
      const responses = await concurrently(40, () => reuse(url));
      const codes = new Set(responses.map((response) => (response.json() as Link).shortCode));
      expect(codes.size).to.equal(1);
      expect(responses.filter(({ status }) => status === 201)).to.have.length(1);
    });

    it('ignores links with options, of other accounts, and that do not redirect', async () => {
      const url = newUrl();
      const other = await bench.key('PRO', { account: 'shorten-other' });
      await bench.link(other.key, { url });
      for (const options of [
        ...[{ alias: 'reuse-alias' }, { password: 'open sesame' }, { expiresIn: 3_600 }],
        ...[{ startsAt: '2020-01-01T00:00:00Z' }, { maxClicks: 3 }, { title: 'x' }],
        ...[{ note: 'x' }, { tags: ['x'] }],
        ...[{ rules: [{ name: 'ios', when: { os: ['iOS'] }, url: destination }] }],
      ]) {
        await bench.link(pro.key, { url, ...options });
      }
      const disabled = await bench.link(pro.key, { url });
      await bench.change(disabled.shortCode, pro.key, { disabled: true });
      const deleted = await bench.link(pro.key, { url });
      await bench.api(`/v2/links/${deleted.shortCode}`, pro.key, { method: 'DELETE' });
      expect((await reuse(url)).status).to.equal(201);
      await bench.change(disabled.shortCode, pro.key, { disabled: false });
      expectReused(await reuse(url), disabled);
    });

    it('finds a link by its current destination and options', async () => {
      const [before, after] = [newUrl(), newUrl()];
      const link = await bench.link(pro.key, { url: before });
      await bench.change(link.shortCode, pro.key, { url: after, title: 'x' });
      expect((await reuse(after)).status).to.equal(201);
      await bench.change(link.shortCode, pro.key, { title: null });
      expectReused(await reuse(after), { ...link, url: after });
      expect((await reuse(before)).status).to.equal(201);
    });

    it('is replayed with its header after the link is deleted', async () => {
      const url = newUrl();
      const link = await bench.link(pro.key, { url });
      const headers = { 'Idempotency-Key': 'reuse-1' };
      expectReused(await reuse(url, headers), link);
      await bench.api(`/v2/links/${link.shortCode}`, pro.key, { method: 'DELETE' });
      const replayed = await reuse(url, headers);
      expectReused(replayed, link);
      expect(replayed.headers['idempotency-replayed']).to.equal('true');
    });

    it('works when the monthly links are spent, and is ignored in a batch', async () => {
      const { key } = await bench.key('FREE', { account: 'shorten-free' });
      const url = newUrl();
      const link = await bench.link(key, { url });
      const items = Array.from({ length: 34 }, () => ({ url, reuse: true }));
      const batch = { method: 'POST', body: { urls: items } };
      const { results } = (await bench.api('/v2/shorten/batch', key, batch)).json() as {
        readonly results: readonly Link[];
      };
      expect(new Set(results.map(({ shortCode }) => shortCode)).size).to.equal(34);
      expectReused(await bench.shorten(key, { url, reuse: true }), link);
      const created = await bench.shorten(key, { url: newUrl(), reuse: true });
      expect(created.status).to.equal(429);
    });
  });
});
