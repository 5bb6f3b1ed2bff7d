import { expect } from 'chai';
import { concurrently, type HttpResponse } from '../support/http.js';
import {
  destination,
  expectBody,
  expectError,
  missingKey,
  monthly,
  timestampPattern,
  upgradeUrl,
  productFixture,
  type Link,
} from './harness.js';

const path = '/v2/shorten/batch';
const sizeMessage = 'urls must contain between 1 and 50 items';
const bodyLimit = 524_288;
const asJson = { 'Content-Type': 'application/json' };

type Result = Readonly<Record<string, unknown>> & {
  readonly index: number;
  readonly success: boolean;
};

describe('command API: POST /v2/shorten/batch', () => {
  const bench = productFixture();
  let pro: string;

  before(async () => {
    pro = (await bench.key('PRO')).key;
  });

  const send = (
    body: unknown,
    key: string | null = pro,
    headers: Record<string, string> = {},
  ): Promise<HttpResponse> => bench.api(path, key, { method: 'POST', body, headers });

  const resultsOf = (response: HttpResponse): readonly Result[] => {
    expect(response.status, response.text).to.equal(200);
    const body = response.json() as { results: readonly Result[] };
    expect(Object.keys(body)).to.deep.equal(['results']);
    return body.results;
  };

  const batch = async (urls: readonly unknown[], key = pro): Promise<readonly Result[]> =>
    resultsOf(await send({ urls }, key));

  const links = (count: number): readonly object[] =>
    Array.from({ length: count }, () => ({ url: destination }));

  const successes = (results: readonly Result[]): number =>
    results.filter(({ success }) => success).length;

  it('creates links that redirect, and returns results in the order of the items', async () => {
    const urls = [
      { url: `${destination}&n=0` },
      { url: `${destination}&n=1`, alias: 'batch-order-1', maxClicks: 3 },
      { url: `  ${destination}&n=2 `, expiresIn: 3_600 },
    ];
    const results = await batch(urls);
    expect(results.map(({ index }) => index)).to.deep.equal([0, 1, 2]);
    for (const [index, result] of results.entries()) {
      const link = result as unknown as Link;
      expect(result.success).to.equal(true);
      expect(link.url).to.equal(`${destination}&n=${index}`);
      expect(link.shortUrl).to.match(/^http:\/\/localhost:\d+\//);
      expect(link.shortUrl.endsWith(`/${link.shortCode}`)).to.equal(true);
      expect(link.createdAt).to.match(timestampPattern);
      const visited = await bench.visit(link.shortCode);
      expect([visited.status, visited.headers.location]).to.deep.equal([302, link.url]);
      expect((await bench.stats(link.shortCode, pro)).url).to.equal(link.url);
    }
    const common = ['index', 'success', 'shortUrl', 'shortCode', 'url'];
    expect(results.map((result) => Object.keys(result))).to.deep.equal([
      [...common, 'createdAt'],
      [...common, 'alias', 'maxClicks', 'createdAt'],
      [...common, 'expiresAt', 'createdAt'],
    ]);
    expect(results[1]).to.include({ alias: 'batch-order-1', maxClicks: 3 });
  });

  it('rejects an invalid item with the message of POST /v2/shorten, and creates the others', async () => {
    const { key } = await bench.key('HOBBY');
    await bench.link(key, { alias: 'batch-taken' });
    const bad: readonly unknown[] = [
      { url: 'no' },
      {},
      null,
      'text',
      [],
      { url: 5 },
      { url: `${bench.product.edge}/loop` },
      { url: destination, alias: 'ab' },
      { url: destination, alias: 'not good' },
      { url: destination, expiresIn: 59 },
      { url: destination, maxClicks: 0 },
      { url: destination, maxClicks: 'many' },
      { url: destination, password: 'not-on-hobby' },
      { url: destination, alias: 'admin' },
      { url: destination, alias: 'batch-taken' },
    ];
    const urls = bad.flatMap((item) => [item, { url: destination }]);
    const results = await batch(urls, key);
    expect(results).to.have.length(urls.length);
    expect(successes(results)).to.equal(bad.length);
    for (const [number, item] of bad.entries()) {
      const alone = await bench.shorten(key, JSON.stringify(item), asJson);
      const said = alone.json() as Record<string, unknown>;
      // An item has no timestamp, path or method.
      const error = Object.fromEntries(
        Object.entries(said).filter(([name]) => !['timestamp', 'path', 'method'].includes(name)),
      );
      const { url } = (item ?? {}) as { url?: unknown };
      expect(results[2 * number], JSON.stringify(item)).to.deep.equal({
        index: 2 * number,
        success: false,
        url: typeof url === 'string' ? url : null,
        ...error,
      });
      expect(results[2 * number + 1]).to.include({ index: 2 * number + 1, success: true });
    }
    expect((await bench.usage(key)).links).to.equal(bad.length + 1);
  });

  it('returns feature, plan and upgrade URL of an item with 403', async () => {
    const { key } = await bench.key('FREE');
    // A disabled feature would determine the message.
    await bench.admin('PATCH', '/admin/platform', { features: { passwords: true } });
    const results = await batch(
      [
        { url: destination, alias: 'batch-free' },
        { url: destination, password: 'secret-word' },
        { url: destination },
      ],
      key,
    );
    const common = { success: false, url: destination, statusCode: 403, error: 'Forbidden' };
    expect(results.slice(0, 2)).to.deep.equal([
      {
        ...common,
        index: 0,
        message: 'Custom aliases require the HOBBY plan or higher.',
        feature: 'customAlias',
        currentPlan: 'FREE',
        upgradeUrl,
      },
      {
        ...common,
        index: 1,
        message: 'Password protection requires the INDIE plan or higher.',
        feature: 'passwordProtection',
        currentPlan: 'FREE',
        upgradeUrl,
      },
    ]);
    expect(results[2]).to.include({ index: 2, success: true });
    expect((await bench.visit('batch-free')).status).to.equal(404);
  });

  it('assigns an alias to the first of two items', async () => {
    const alias = 'batch-twice';
    const results = await batch([
      { url: destination, alias },
      { url: 'https://example.com/second', alias },
      { url: 'https://example.com/third', alias: 'Batch-Twice' },
      { url: destination, alias },
    ]);
    expect(results.map(({ success }) => success)).to.deep.equal([true, false, true, false]);
    for (const index of [1, 3]) {
      expect(results[index]).to.include({ statusCode: 400, message: 'Alias is already taken' });
    }
    expect((await bench.visit(alias)).headers.location).to.equal(destination);
  });

  it('assigns an alias to one of many concurrent batches', async () => {
    const rounds = await concurrently(20, (n) =>
      batch([{ url: destination }, { url: `https://example.com/${n}`, alias: 'batch-race' }]),
    );
    const winners = rounds.flatMap((results) => results.filter(({ alias }) => alias));
    expect(winners).to.have.length(1);
    expect((await bench.visit('batch-race')).headers.location).to.equal(winners[0]?.['url']);
  });

  describe('with 35 links a month', () => {
    it('creates the links that the quota allows, in order', async () => {
      const { key } = await bench.key('FREE');
      expect(successes(await batch(links(30), key))).to.equal(30);
      const urls = [{ url: 'no' }, ...links(4), { url: 'no' }, ...links(3)];
      const results = await batch(urls, key);
      expect(results.map(({ success }) => success)).to.deep.equal([
        ...[false, true, true, true, true],
        ...[false, true, false, false],
      ]);
      for (const index of [7, 8]) {
        expect(results[index]).to.deep.equal({
          index,
          success: false,
          url: destination,
          ...monthly('Monthly link limit reached.', 35),
        });
      }
      expect(await bench.usage(key)).to.include({ calls: 2, links: 35 });
      const [after] = await batch(links(1), key);
      expect(after).to.include({ success: false, statusCode: 429 });
    });

    it('never exceeds the quota with concurrent batches', async () => {
      const { key } = await bench.key('FREE');
      const batches = await concurrently(10, () => batch(links(8), key));
      expect(batches.reduce((sum, results) => sum + successes(results), 0)).to.equal(35);
      expect(await bench.usage(key)).to.include({ calls: 10, links: 35 });
    });
  });

  it('costs one call, whatever its outcome', async () => {
    const { key } = await bench.key('PRO');
    expect(successes(await batch(links(50), key))).to.equal(50);
    expect(await bench.usage(key)).to.include({ calls: 1, links: 50 });
    expect((await send({ urls: [] }, key)).status).to.equal(400);
    expect(successes(await batch([{ url: 'no' }], key))).to.equal(0);
    expect(await bench.usage(key)).to.include({ calls: 3, links: 50 });
  });

  it('accepts 1 to 50 items', async () => {
    expect(await batch(links(1))).to.have.length(1);
    const fifty = await batch(links(50));
    expect(new Set(fifty.map(({ shortCode }) => shortCode)).size).to.equal(50);
    const wrong = [
      { urls: [] },
      { urls: links(51) },
      {},
      [],
      { urls: null },
      { urls: destination },
      { urls: { 0: { url: destination } } },
    ];
    for (const body of wrong) {
      const response = await send(body);
      expectError(response, { status: 400, message: sizeMessage, path, method: 'POST' });
    }
  });

  it('accepts a body of at most 512 KiB', async () => {
    const body = JSON.stringify({ urls: links(2) });
    expect(successes(resultsOf(await send(body.padEnd(bodyLimit), pro, asJson)))).to.equal(2);
    const response = await send(body.padEnd(bodyLimit + 1), pro, asJson);
    const message = 'Request body is too large';
    expectError(response, { status: 413, message, path, method: 'POST' });
  });

  it('is rejected as a whole when the request itself is invalid', async () => {
    const item = `{"url":"${destination}"}`;
    const polluted = `{"urls":[${item},{"url":"${destination}","x":{"__proto__":{}}}]}`;
    for (const [status, message, body, headers] of [
      [400, 'property __proto__ should not exist', polluted, asJson],
      [400, 'Invalid JSON body', `{"urls":[${item}`, asJson],
      [415, 'Content-Type must be application/json', '{}', { 'Content-Type': 'text/plain' }],
    ] as const) {
      const response = await send(body, pro, headers);
      expectError(response, { status, message, path, method: 'POST' });
    }
    expectBody(await send({ urls: links(1) }, null), 401, missingKey);
    const get = await bench.api(path, pro);
    expectError(get, { status: 405, message: 'Method Not Allowed', path });
    expect(get.headers.allow).to.equal('POST');
  });

  describe('with an Idempotency-Key', () => {
    const once = (name: string, body: unknown, key = pro): Promise<HttpResponse> =>
      send(body, key, { 'Idempotency-Key': name });

    it('replays the response, failed items included, and creates nothing', async () => {
      const { key } = await bench.key('PRO');
      const body = { urls: [{ url: destination }, { url: 'no' }] };
      const first = await once('again', body, key);
      expect(first.headers).not.to.have.property('idempotency-replayed');
      const again = await once('again', body, key);
      expect(again.headers['idempotency-replayed']).to.equal('true');
      expect(again.status).to.equal(200);
      expect(again.json()).to.deep.equal(first.json());
      expect(await bench.usage(key)).to.include({ calls: 2, links: 1 });

      const other = await once('again', { urls: links(1) }, key);
      const message = 'Idempotency-Key was already used with another request body';
      expectError(other, { status: 422, message, path, method: 'POST' });
    });

    it('does not store a response in which all items failed: a retry is decided again', async () => {
      const { key } = await bench.key('PRO');
      const body = { urls: [{ url: 'no' }, { url: destination, alias: 'batch-later-free' }] };
      await bench.link(key, { alias: 'batch-later-free' });
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const response = await once('all-failed', body, key);
        expect(response.headers).not.to.have.property('idempotency-replayed');
        expect(successes(resultsOf(response))).to.equal(0);
      }
      expect(successes(resultsOf(await once('all-failed', { urls: links(1) }, key)))).to.equal(1);
    });

    it('replays a response of 400 KB byte for byte, also after its links were changed', async () => {
      const { key } = await bench.key('PRO');
      const note = '\u{1F517}'.repeat(1_990);
      const urls = Array.from({ length: 50 }, (_, index) => ({
        url: index % 10 === 9 ? `no ${index}` : `${destination}&n=${index}`,
        ...{ note: `${note}${index}`, tags: ['ü', '"'], title: 'a' },
        ...(index === 3 && { alias: 'batch-of-400-kb', maxClicks: 7, expiresIn: 600 }),
      }));
      const first = await once('large', { urls }, key);
      expect(successes(resultsOf(first))).to.equal(45);
      expect(first.bytes.length).to.be.above(350_000);
      const [{ shortCode } = { shortCode: '' }] = resultsOf(first);
      const changed = `/v2/links/${String(shortCode)}`;
      for (const body of [{ note: 'changed', url: `${destination}&changed` }, { title: null }]) {
        expect((await bench.api(changed, key, { method: 'PATCH', body })).status).to.equal(200);
      }
      for (const method of ['DELETE', 'GET']) {
        const again = await once('large', { urls }, key);
        expect(again.headers['idempotency-replayed']).to.equal('true');
        expect(again.text).to.equal(first.text);
        await bench.api(changed, key, { method });
      }
      expect((await bench.usage(key)).links).to.equal(45);
    });

    it('is independent of the same key at POST /v2/shorten', async () => {
      const alone = await bench.shorten(
        pro,
        { url: destination },
        { 'Idempotency-Key': 'two-paths' },
      );
      expect(alone.status).to.equal(201);
      const response = await once('two-paths', { urls: links(1) });
      expect(response.headers).not.to.have.property('idempotency-replayed');
      expect(successes(resultsOf(response))).to.equal(1);
    });

    it('accepts a retry after a 400', async () => {
      expect((await once('mended', { urls: [] })).status).to.equal(400);
      expect(successes(resultsOf(await once('mended', { urls: links(1) })))).to.equal(1);
    });

    it('creates its links once for concurrent copies', async () => {
      const { key } = await bench.key('PRO');
      const responses = await concurrently(30, () => once('race', { urls: links(5) }, key));
      const done = responses.filter(({ status }) => status === 200);
      expect(done.length).to.be.above(0);
      expect(new Set(done.map(({ text }) => text)).size).to.equal(1);
      for (const { status } of responses) expect(status).to.be.oneOf([200, 409]);
      expect((await bench.usage(key)).links).to.equal(5);
    });
  });
});
