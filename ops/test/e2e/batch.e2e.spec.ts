import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { destination, expectError, keyFixture, sharedProduct } from './harness.js';

const path = '/v2/shorten/batch';
const bodyLimit = 524_288;
const json = { 'Content-Type': 'application/json' };

type Result = Readonly<Record<string, unknown>> & {
  readonly index: number;
  readonly success: boolean;
};

describe('POST /v2/shorten/batch', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'batch' });

  const send = (body: unknown, key = pro.key, headers = {}): Promise<HttpResponse> =>
    bench.api(path, key, { method: 'POST', body, headers });
  const resultsOf = (response: HttpResponse): readonly Result[] => {
    expect(response.status, response.text).to.equal(200);
    return (response.json() as { results: readonly Result[] }).results;
  };
  const batch = async (urls: readonly unknown[], key = pro.key): Promise<readonly Result[]> =>
    resultsOf(await send({ urls }, key));
  const links = (count: number): readonly object[] =>
    Array.from({ length: count }, () => ({ url: destination }));
  const successes = (results: readonly Result[]): number =>
    results.filter(({ success }) => success).length;

  it('creates links that redirect, and returns results in the order of the items', async () => {
    const urls = [
      { url: `${destination}&n=0` },
      { url: `${destination}&n=1`, alias: 'batch-order-1', maxClicks: 3 },
      { url: `${destination}&n=2`, expiresIn: 3_600 },
    ];
    const results = await batch(urls);
    const common = ['index', 'success', 'shortUrl', 'shortCode', 'url'];
    expect(results.map((result) => Object.keys(result))).to.deep.equal([
      [...common, 'createdAt'],
      [...common, 'alias', 'maxClicks', 'createdAt'],
      [...common, 'expiresAt', 'createdAt'],
    ]);
    for (const [index, result] of results.entries()) {
      expect(result).to.include({ index, success: true, url: urls[index]?.url });
      const visited = await bench.visit(String(result['shortCode']));
      expect(visited.headers.location).to.equal(urls[index]?.url);
    }
  });

  it('rejects an invalid item like POST /v2/shorten, and creates the others', async () => {
    const { key } = await bench.key('HOBBY', { account: 'batch' });
    await bench.link(key, { alias: 'batch-taken' });
    const bad: readonly unknown[] = [
      ...[null, { url: 5 }, { url: destination, alias: 'ab' }],
      { url: destination, password: 'not-on-hobby' },
      ...[
        { url: destination, alias: 'admin' },
        { url: destination, alias: 'batch-taken' },
      ],
    ];
    const results = await batch(
      bad.flatMap((item) => [item, { url: destination }]),
      key,
    );
    for (const [number, item] of bad.entries()) {
      const alone = await bench.shorten(key, JSON.stringify(item), json);
      const error = alone.json() as Record<string, unknown>;
      // An item has no timestamp, path or method.
      for (const field of ['timestamp', 'path', 'method']) Reflect.deleteProperty(error, field);
      const { url } = (item ?? {}) as { url?: unknown };
      expect(results[2 * number], JSON.stringify(item)).to.deep.equal({
        ...{ index: 2 * number, success: false, url: typeof url === 'string' ? url : null },
        ...error,
      });
      expect(results[2 * number + 1]).to.include({ index: 2 * number + 1, success: true });
    }
    expect((await bench.usage(key)).links).to.equal(bad.length + 1);
  });

  it('accepts 1 to 50 items in at most 512 KiB, for one call', async () => {
    const { key } = await bench.key('PRO', { account: 'batch' });
    const fifty = await batch(links(50), key);
    expect(new Set(fifty.map(({ shortCode }) => shortCode)).size).to.equal(50);
    const message = 'urls must contain between 1 and 50 items';
    expectError(await send({ urls: links(51) }, key), {
      status: 400,
      message,
      path,
      method: 'POST',
    });
    const body = JSON.stringify({ urls: links(2) });
    expect(successes(resultsOf(await send(body.padEnd(bodyLimit), key, json)))).to.equal(2);
    expectError(await send(body.padEnd(bodyLimit + 1), key, json), {
      ...{ status: 413, message: 'Request body is too large', path, method: 'POST' },
    });
    expect(await bench.usage(key)).to.include({ calls: 4, links: 52 });
  });

  describe('with an Idempotency-Key', () => {
    const once = (name: string, body: unknown, key: string): Promise<HttpResponse> =>
      send(body, key, { 'Idempotency-Key': name });
    let key: string;

    beforeEach(async () => {
      ({ key } = await bench.key('PRO', { account: 'batch' }));
    });

    it('replays 400 KB byte for byte, failed items included, also after changes', async () => {
      const note = '\u{1F517}'.repeat(1_990);
      const urls = Array.from({ length: 50 }, (_, index) => ({
        url: index % 10 === 9 ? `no ${index}` : `${destination}&n=${index}`,
        ...{ note: `${note}${index}`, tags: ['ü', '"'], title: 'a' },
        ...(index === 3 && { alias: 'batch-of-400-kb', maxClicks: 7, expiresIn: 600 }),
      }));
      const first = await once('large', { urls }, key);
      expect(first.headers).not.to.have.property('idempotency-replayed');
      expect(successes(resultsOf(first))).to.equal(45);
      expect(first.bytes.length).to.be.above(350_000);
      const changed = `/v2/links/${String(resultsOf(first)[0]?.['shortCode'])}`;
      const body = { note: 'changed', url: `${destination}&changed`, title: null };
      expect((await bench.api(changed, key, { method: 'PATCH', body })).status).to.equal(200);
      const again = await once('large', { urls }, key);
      expect(again.headers['idempotency-replayed']).to.equal('true');
      expect(again.text).to.equal(first.text);
      expect((await bench.usage(key)).links).to.equal(45);
      expectError(await once('large', { urls: links(1) }, key), {
        status: 422,
        message: 'Idempotency-Key was already used with another request body',
        ...{ path, method: 'POST' },
      });
    });
  });
});
