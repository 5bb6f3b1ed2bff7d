import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { keyFixture, expectError, expectRefused, sharedProduct } from './harness.js';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const url = 'https://example.com/text';

describe('command API: text', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO');

  const post = (
    path: string,
    body: unknown,
    contentType = 'application/json',
  ): Promise<HttpResponse> =>
    bench.api(path, pro.key, { method: 'POST', body, headers: { 'Content-Type': contentType } });

  const ignored = ({ headers }: HttpResponse): unknown => headers['linklog-ignored-fields'];

  it('rejects every body that is not UTF-8, and stores nothing', async () => {
    const { shortCode } = await bench.link(pro.key);
    const broken = [
      '{"url":"https://example.com/M\xfcnchen"}',
      `{"url":"${url}","title":"\xc3\x28"}`,
      `{"url":"${url}","title":"\xed\xa0\x80"}`,
      `{"url":"${url}","tags":["\xe4","\xf6"]}`,
    ];
    for (const text of broken) {
      expectRefused(await post('/v2/shorten', latin1(text)), 400, 'Invalid JSON body');
      const batch = await post('/v2/shorten/batch', latin1(`{"urls":[${text}]}`));
      expect(batch.status, text).to.equal(400);
    }
    const patched = await bench.api(`/v2/links/${shortCode}`, pro.key, {
      method: 'PATCH',
      body: latin1('{"title":"\xfc"}'),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(patched.status).to.equal(400);
    const created = await bench.api('/v2/keys', pro.key, {
      method: 'POST',
      body: latin1('{"name":"\xfc"}'),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(created.status).to.equal(400);
    expect((await bench.api('/v2/links', pro.key)).text).to.not.include('\ufffd');
  });

  it('rejects every charset but UTF-8 with 415', async () => {
    const body = JSON.stringify({ url });
    const typed = (charset: string) => post('/v2/shorten', body, `application/json; ${charset}`);
    expect((await typed('charset="UTF-8"')).status).to.equal(201);
    expectRefused(await typed('charset=latin1'), 415, 'The charset of Content-Type must be utf-8');
  });

  it('rejects query parameters that are not UTF-8, and names them', async () => {
    for (const [path, name] of [
      ['/v2/links?limit=1&search=M%FCnchen', 'search'],
      ['/v2/links?tag=%C3%28', 'tag'],
      ['/v2/stats?tz=%ED%A0%80', 'tz'],
      ['/v2/keys?after=%FF', 'after'],
      ['/v2/qr/some-code?dark=%FF', 'dark'],
      ['/v2/links/some-code/history?after=%FF', 'after'],
      ['/v2/stats/some-code?unknown=%FF', 'unknown'],
    ] as const) {
      expectError(await bench.api(path, pro.key), {
        status: 400,
        message: `${name} must be UTF-8`,
        path: path.slice(0, path.indexOf('?')),
      });
    }
    const admin = await bench.admin('GET', '/admin/keys?limit=%FF');
    expect(admin.json()).to.include({ statusCode: 400, message: 'limit must be UTF-8' });
  });

  it('stores titles, notes, tags and key names trimmed and in NFC', async () => {
    const texts = {
      title: ' Bu\u0308cher ',
      note: '\nu\u0308ber\n',
      tags: [' o\u0308l', '\u00f6l '],
    };
    const stored = { title: 'B\u00fccher', note: '\u00fcber', tags: ['\u00f6l'] };
    expect((await bench.shorten(pro.key, { url, ...texts })).json()).to.deep.include(stored);
    const { shortCode } = await bench.link(pro.key);
    const patched = await bench.change(shortCode, pro.key, texts);
    expect(patched.json()).to.deep.include(stored);
    const change = { removeTags: ['o\u0308l '] };
    const bulk = await post('/v2/links/bulk', JSON.stringify({ shortCodes: [shortCode], change }));
    expect(bulk.json()).to.have.nested.property('results[0].tags').that.deep.equals([]);
    const created = await post('/v2/keys', JSON.stringify({ name: ' Gro\u0308\u00dfe ' }));
    expect(created.json()).to.include({ name: 'Gr\u00f6\u00dfe' });
    const issued = await bench.admin('POST', '/admin/keys', { name: ' a\u0308 ', plan: 'FREE' });
    expect(issued.json()).to.include({ name: '\u00e4' });
    expect((await bench.shorten(pro.key, { url, tags: ['a', ' '] })).status).to.equal(400);
  });

  it('returns the reason of an invalid URL', async () => {
    const own = bench.product.edge;
    for (const [sent, reason] of [
      [undefined, 'missing'],
      ['example.com', 'scheme'],
      ['https://a@example.com/', 'userinfo'],
      ['https://example.com/a\\b', 'backslash'],
      [`${own}/abc`, 'ownHost'],
      ['https://a\u200cb.example/', 'host'],
      ['https://exam ple.com/', 'whitespace'],
    ] as const) {
      const message = 'Please provide a valid URL';
      expectRefused(await bench.shorten(pro.key, { url: sent }), 400, message, { reason });
      const batch = await post('/v2/shorten/batch', JSON.stringify({ urls: [{ url: sent }] }));
      const [result] = (batch.json() as { results: readonly object[] }).results;
      expect(result).to.include({ statusCode: 400, message, reason });
    }
    const long = `${url}/${'x'.repeat(2_048)}`;
    const tooLong = 'URL must be at most 2048 characters';
    expectRefused(await bench.shorten(pro.key, { url: long }), 400, tooLong, { reason: 'tooLong' });
    const { shortCode } = await bench.link(pro.key);
    const patched = await bench.change(shortCode, pro.key, { url: 'ftp://example.com' });
    expect(patched.json()).to.include({ statusCode: 400, reason: 'scheme' });
  });

  it('trims invisible characters at both ends of a destination', async () => {
    const created = await bench.link(pro.key, { url: `\u200b\ufeff ${url}\u00ad\u202e\n` });
    expect(created.url).to.equal(url);
    expect((await bench.visit(created.shortCode)).headers.location).to.equal(url);
  });

  it('converts a host by the current UTS 46', async () => {
    for (const [host, ascii] of [
      ['fa\u00df.de', 'xn--fa-hia.de'],
      ['FA\u1e9e.de', 'xn--fa-hia.de'],
    ] as const) {
      const created = await bench.link(pro.key, { url: `https://${host}/a` });
      expect(created.url).to.equal(`https://${host}/a`);
      const visited = await bench.visit(created.shortCode);
      expect(visited.headers.location).to.equal(`https://${ascii}/a`);
    }
  });

  it('names the ignored fields of a successful request', async () => {
    const body = { expiresAt2: 1, url, 'tag,': null, '\u00fc': {}, maxClicks: null };
    const created = await bench.shorten(pro.key, body);
    expect(created.status).to.equal(201);
    expect(ignored(created)).to.equal('expiresAt2, tag%2C, %C3%BC');
    const { shortCode } = created.json() as { shortCode: string };

    const aliased = { url, alias: 'with-ignored', color: 1 };
    expect(ignored(await bench.shorten(pro.key, aliased))).to.equal('color');
    expect(ignored(await bench.shorten(pro.key, { ...aliased, url: 'x' }))).to.equal(undefined);
    expect(ignored(await bench.shorten(pro.key, { url }))).to.equal(undefined);

    const batch = { urls: [{ url, color: 1 }], colour: 2 };
    expect(ignored(await post('/v2/shorten/batch', JSON.stringify(batch)))).to.equal('colour');

    const patched = await bench.change(shortCode, pro.key, { title: 'a', tag: 'b' });
    expect(ignored(patched)).to.equal('tag');
    const bulk = { shortCodes: [shortCode], change: { disabled: false, title: 'a' }, dryRun: true };
    const changed = await post('/v2/links/bulk', JSON.stringify(bulk));
    expect(ignored(changed)).to.equal('change.title, dryRun');
    const child = await post('/v2/keys', JSON.stringify({ name: 'a', plan: 'FREE' }));
    expect(ignored(child)).to.equal('plan');
    const root = await bench.admin('POST', '/admin/keys', { name: 'a', plan: 'FREE', scope: [] });
    expect(ignored(root)).to.equal('scope');
  });

  it('names ignored fields in a replayed response too', async () => {
    const body = { url, color: 1 };
    const headers = { 'Idempotency-Key': 'ignored-1' };
    expect(ignored(await bench.shorten(pro.key, body, headers))).to.equal('color');
    const replay = await bench.shorten(pro.key, body, headers);
    expect(replay.headers).to.include({
      'idempotency-replayed': 'true',
      'linklog-ignored-fields': 'color',
    });
  });

  it('names at most ten ignored fields, of at most 50 characters each', async () => {
    const many = Array.from({ length: 20 }, (_, index) => [`f${index}`, 1] as const);
    const created = await bench.shorten(pro.key, { url, ...Object.fromEntries(many) });
    const names = many.slice(0, 10).map(([name]) => name);
    expect(ignored(created)).to.equal(names.join(', '));
    const long = await bench.shorten(pro.key, { url, ['\u{1f600}'.repeat(1_000)]: 1, '\ud800': 2 });
    expect(ignored(long)).to.equal(`${'%F0%9F%98%80'.repeat(50)}, %EF%BF%BD`);
  });
});
