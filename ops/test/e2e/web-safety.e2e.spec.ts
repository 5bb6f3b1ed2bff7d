import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { destination, expectRefused, keyFixture, sharedProduct } from './harness.js';

const unsafe = 'URL appears to be unsafe and cannot be shortened';
const unavailable = 'Web safety check is temporarily unavailable';

describe('the web safety check', () => {
  const bench = sharedProduct();
  const account = 'web-safety';
  const pro = keyFixture(bench, 'PRO', { account });

  beforeEach(() => {
    bench.safeBrowsing.asked.length = 0;
  });
  afterEach(() => {
    bench.safeBrowsing.behaviour = 'answer';
  });

  /** The calls with this URL: re-checks of other links are not counted. */
  const callsWith = (url: string): readonly (readonly string[])[] =>
    bench.safeBrowsing.urls().filter((urls) => urls.includes(url));

  const shorten = (body: object, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    bench.shorten(pro.key, body, headers);

  it('accepts a safe URL, and looks it up once', async () => {
    const url = 'https://fine.example/a?b=c';
    const { shortCode } = await bench.link(pro.key, { url });
    await bench.link(pro.key, { url });
    expect(callsWith(url)).to.deep.equal([[url]]);
    expect((await bench.visit(shortCode)).headers.location).to.equal(url);
  });

  it('rejects a URL that Safe Browsing lists, and spends no link', async () => {
    const { links } = await bench.usage(pro.key);
    const body = { url: 'https://evil-1.example/', alias: 'not-spent-unsafe' };
    for (let time = 0; time < 2; time += 1) expectRefused(await shorten(body), 400, unsafe);
    expect(callsWith(body.url)).to.have.length(1);
    // The alias is checked later.
    expectRefused(await shorten({ ...body, alias: 'admin' }), 400, unsafe);
    const rules = [{ name: 'bad', when: {}, url: body.url }];
    expectRefused(await shorten({ url: destination, rules }), 400, unsafe);
    expect((await bench.usage(pro.key)).links).to.equal(links);
    const { shortCode } = await bench.link(pro.key, { alias: body.alias });
    for (const change of [{ url: body.url }, { rules }]) {
      const changed = await bench.change(shortCode, pro.key, change);
      expect(changed.json()).to.include({ statusCode: 400, message: unsafe });
    }
  });

  it('looks up no URL for a refused alias', async () => {
    const url = 'https://evil.example/order';
    const { shortCode } = await bench.link(pro.key, { alias: 'looked-up-once' });
    const reserved = 'This alias is reserved and cannot be used';
    const taken = 'Alias is already taken';
    expectRefused(await shorten({ url, alias: 'admin' }), 400, reserved);
    expectRefused(await shorten({ url, alias: shortCode }), 400, taken);
    expect(callsWith(url)).to.deep.equal([]);
    expectRefused(await shorten({ url: 'http://grabify.link/', alias: 'admin' }), 400, unsafe);
  });

  it('responds with 503 while Safe Browsing is unavailable, and spends no link', async () => {
    const { links } = await bench.usage(pro.key);
    const idempotent = { 'Idempotency-Key': 'after-the-outage' };
    const body = { url: 'https://outage.example/', alias: 'not-spent-unknown' };
    await bench.link(pro.key);
    bench.safeBrowsing.behaviour = 'fail';
    const failed = await shorten(body, idempotent);
    expectRefused(failed, 503, unavailable);
    expect(Number(failed.headers['retry-after'])).to.be.at.least(1);
    bench.safeBrowsing.behaviour = 'hang';
    expectRefused(await shorten({ ...body, url: 'https://hung.example/' }), 503, unavailable);
    // Safe verdicts are cached.
    await bench.link(pro.key);
    bench.safeBrowsing.behaviour = 'answer';
    expect((await bench.usage(pro.key)).links).to.equal(links + 2);
    expect((await shorten(body, idempotent)).status).to.equal(201);
    // The requests to Safe Browsing have its API key in their URL.
    expect(bench.product.stderr()).to.not.include('key=a-key');
  });
});
