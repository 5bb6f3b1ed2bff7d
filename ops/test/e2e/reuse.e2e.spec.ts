import { expect } from 'chai';
import { eventuallyPasses } from '../support/waiting.js';
import type { HttpResponse } from '../support/http.js';
import { keyFixture, expectRefused, sharedProduct, type Link } from './harness.js';

describe('command API: reuse of a link', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO');
  let urls = 0;

  const newUrl = (): string => {
    urls += 1;
    return `https://example.com/reuse/${urls}`;
  };
  const reuse = (url: string, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    bench.shorten(pro.key, { url, reuse: true }, headers);
  const expectReused = (response: HttpResponse, link: Link): void => {
    expect(response.status, response.text).to.equal(200);
    expect(response.headers['linklog-reused']).to.equal('true');
    expect(response.json()).to.deep.equal(link);
  };

  it('returns the link that was created before, and spends none', async () => {
    const url = newUrl();
    const link = await bench.link(pro.key, { url });
    const { links } = await bench.usage(pro.key);
    expectReused(await reuse(url), link);
    expect(await bench.usage(pro.key)).to.include({ links });
  });

  it('creates a link if there is none, which the next request gets', async () => {
    const url = newUrl();
    const first = await reuse(url);
    expect(first.status).to.equal(201);
    expect(first.headers).to.not.have.property('linklog-reused');
    expectReused(await reuse(url), first.json() as Link);
    expect((await reuse(`${url}?`)).status).to.equal(201);
  });

  it('creates one link for many concurrent requests', async () => {
    const url = newUrl();
    const responses = await Promise.all(Array.from({ length: 40 }, () => reuse(url)));
    const codes = new Set(responses.map((response) => (response.json() as Link).shortCode));
    expect(codes.size).to.equal(1);
    expect(responses.filter(({ status }) => status === 201)).lengthOf(1);
  });

  it('ignores links with options, of other accounts, and that do not redirect', async () => {
    const url = newUrl();
    const others = await bench.key('PRO', { account: 'reuse-other' });
    await bench.link(others.key, { url });
    for (const options of [
      { alias: 'reuse-alias' },
      { password: 'open sesame' },
      { expiresIn: 3_600 },
      { startsAt: '2020-01-01T00:00:00Z' },
      { maxClicks: 3 },
      { title: 'x' },
      { note: 'x' },
      { tags: ['x'] },
    ]) {
      await bench.link(pro.key, { url, ...options });
    }
    const disabled = await bench.link(pro.key, { url });
    await bench.change(disabled.shortCode, pro.key, { disabled: true });
    const deleted = await bench.link(pro.key, { url });
    await bench.api(`/v2/links/${deleted.shortCode}`, pro.key, { method: 'DELETE' });
    const created = await reuse(url);
    expect(created.status).to.equal(201);
    await bench.change(disabled.shortCode, pro.key, { disabled: false });
    expectReused(await reuse(url), disabled);
  });

  it('finds a link by its current destination', async () => {
    const [before, after] = [newUrl(), newUrl()];
    const link = await bench.link(pro.key, { url: before });
    await bench.change(link.shortCode, pro.key, { url: after, title: 'x' });
    expect((await reuse(after)).status).to.equal(201);
    await bench.change(link.shortCode, pro.key, { title: null });
    expectReused(await reuse(after), { ...link, url: after });
    expect((await reuse(before)).status).to.equal(201);
  });

  it('is rejected with any other option, and ignored in a batch', async () => {
    const message = 'reuse can only be combined with url and domain';
    for (const option of [{ alias: 'some-alias' }, { title: 'x' }, { expiresIn: 60 }]) {
      const body = { url: newUrl(), reuse: true, ...option };
      expectRefused(await bench.shorten(pro.key, body), 400, message);
    }
    const url = newUrl();
    expectRefused(
      await bench.shorten(pro.key, { url, reuse: 'yes' }),
      400,
      'reuse must be true or false',
    );
    const response = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: { urls: [1, 2].map(() => ({ url, reuse: true })) },
    });
    const { results } = response.json() as { results: Link[] };
    expect(new Set(results.map(({ shortCode }) => shortCode)).size).to.equal(2);
  });

  it('is replayed with its header', async () => {
    const url = newUrl();
    const link = await bench.link(pro.key, { url });
    const headers = { 'Idempotency-Key': 'reuse-1' };
    expectReused(await reuse(url, headers), link);
    await bench.api(`/v2/links/${link.shortCode}`, pro.key, { method: 'DELETE' });
    const replayed = await reuse(url, headers);
    expectReused(replayed, link);
    expect(replayed.headers['idempotency-replayed']).to.equal('true');
  });

  it('works when the monthly links are spent', async () => {
    const free = await bench.key('FREE', { account: 'reuse-free' });
    const url = newUrl();
    const link = await bench.link(free.key, { url });
    const fill = { method: 'POST', body: { urls: Array.from({ length: 34 }, () => ({ url })) } };
    await bench.api('/v2/shorten/batch', free.key, fill);
    const reused = await bench.shorten(free.key, { url, reuse: true });
    expectReused(reused, link);
    const created = await bench.shorten(free.key, { url: newUrl(), reuse: true });
    expect(created.status).to.equal(429);
  });

  it('returns the oldest of several', async () => {
    const url = newUrl();
    const oldest = await bench.link(pro.key, { url });
    for (let index = 0; index < 5; index += 1) await bench.link(pro.key, { url });
    await eventuallyPasses(async () => {
      expectReused(await reuse(url), oldest);
    });
  });
});
