import { expect } from 'chai';
import { type HttpResponse } from '../support/http.js';
import {
  destination,
  expectRefused,
  keyFixture,
  sharedProduct,
  timestampPattern,
  type Link,
} from './harness.js';

const json = { 'Content-Type': 'application/json' };
const invalidUrl = 'Please provide a valid URL';
const taken = 'Alias is already taken';

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

  it('returns the reason of an invalid URL, also in a batch and for a change', async () => {
    const { shortCode } = await bench.link(pro.key);
    const url = `${bench.product.edge}/abc`;
    const reason = { reason: 'ownHost' };
    expectRefused(await shorten({ url }), 400, invalidUrl, reason);
    const batch = await post('/v2/shorten/batch', { urls: [{ url }] });
    expect(batch.json()).to.have.nested.property('results[0].reason', 'ownHost');
    expect((await bench.change(shortCode, pro.key, { url })).json()).to.include(reason);
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

  it('names ignored fields in its response, also if it is replayed', async () => {
    const body = { expiresAt2: 1, url: destination, 'tag,': null, '\u00fc': {}, maxClicks: null };
    for (const replayed of [undefined, 'true']) {
      const response = await shorten(body, { 'Idempotency-Key': 'shorten-ignored' });
      expect(ignoredFields(response)).to.equal('expiresAt2, tag%2C, %C3%BC');
      expect(response.headers['idempotency-replayed']).to.equal(replayed);
    }
    const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
    const many = Object.fromEntries(names.map((name) => [name, 1]));
    expect(ignoredFields(await shorten({ url: destination, ...many }))).to.equal(
      names.slice(0, 10).join(', '),
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

    it('ignores links with options, of other accounts, and that do not redirect', async () => {
      const url = newUrl();
      const other = await bench.key('PRO', { account: 'shorten-other' });
      await bench.link(other.key, { url });
      for (const options of [{ alias: 'reuse-alias' }, { maxClicks: 3 }, { title: 'x' }]) {
        await bench.link(pro.key, { url, ...options });
      }
      const disabled = await bench.link(pro.key, { url: newUrl(), note: 'x' });
      await bench.change(disabled.shortCode, pro.key, { url, note: null, disabled: true });
      const deleted = await bench.link(pro.key, { url });
      await bench.api(`/v2/links/${deleted.shortCode}`, pro.key, { method: 'DELETE' });
      expect((await reuse(url)).status).to.equal(201);
      await bench.change(disabled.shortCode, pro.key, { disabled: false });
      expect((await reuse(url)).json()).to.include({ shortCode: disabled.shortCode });
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
  });
});
