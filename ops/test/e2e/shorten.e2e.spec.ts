import { expect } from 'chai';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { HttpResponse } from '../support/http.js';
import {
  keyFixture,
  destination,
  expectBody,
  expectRefused,
  timestampPattern,
  upgradeUrl,
  productFixture,
  type Link,
} from './harness.js';

const json = 'application/json';
const badUrl = 'Please provide a valid URL';

describe('command API: POST /v2/shorten', () => {
  const bench = productFixture();
  const pro = keyFixture(bench, 'PRO');

  const shorten = (body: unknown): Promise<HttpResponse> => bench.shorten(pro.key, body);

  /** The default of SHORT_URL_HOST. */
  const host = (): string => `http://localhost:${new URL(bench.product.edge).port}`;

  describe('responds with 201 and the link', () => {
    it('without optional fields that were not sent', async () => {
      const response = await shorten({ url: destination });
      const link = response.json() as Link;
      expect(link).to.deep.equal({
        shortUrl: `${host()}/${link.shortCode}`,
        shortCode: link.shortCode,
        url: destination,
        createdAt: link.createdAt,
      });
      expect(link.shortCode).to.match(/^[0-9A-Za-z]{8}$/);
      expect(link.createdAt).to.match(timestampPattern);
      expect(Math.abs(Date.parse(link.createdAt) - Date.now())).to.be.below(5_000);
      expect(response.status).to.equal(201);
      expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(response.headers['cache-control']).to.equal('no-store');
      expect(response.headers).not.to.have.property('idempotency-replayed');
    });

    it('with every optional field that was sent', async () => {
      const link = await bench.link(pro.key, {
        alias: 'All-of_it',
        expiresIn: 3_600,
        maxClicks: 7,
      });
      expect(link).to.deep.equal({
        shortUrl: `${host()}/All-of_it`,
        shortCode: 'All-of_it',
        url: destination,
        alias: 'All-of_it',
        expiresAt: new Date(Date.parse(link.createdAt) + 3_600_000).toISOString(),
        maxClicks: 7,
        createdAt: link.createdAt,
      });
    });

    it('with null as absent, and without unknown fields', async () => {
      const link = await bench.link(pro.key, {
        alias: null,
        password: null,
        expiresIn: null,
        maxClicks: null,
        shortCode: 'mine',
        createdAt: '1970-01-01T00:00:00.000Z',
        nested: { deep: [1, { url: 'x' }] },
      });
      expect(link).to.have.all.keys('shortUrl', 'shortCode', 'url', 'createdAt');
      expect(link.shortCode).not.to.equal('mine');
      expect(Date.parse(link.createdAt)).to.be.above(0);
    });

    it('with a different code each time', async () => {
      const links = await Promise.all(Array.from({ length: 50 }, () => bench.link(pro.key)));
      expect(new Set(links.map(({ shortCode }) => shortCode)).size).to.equal(50);
    });

    it('for any case and parameters of the content type', async () => {
      for (const type of [
        'APPLICATION/JSON',
        'application/json; charset=utf-8',
        'Application/Json ; a=b',
      ]) {
        const response = await bench.shorten(pro.key, JSON.stringify({ url: destination }), {
          'Content-Type': type,
        });
        expect(response.status, type).to.equal(201);
      }
    });
  });

  describe('keeps a destination exactly as sent', () => {
    const pad = (length: number): string => 'https://example.com/'.padEnd(length, 'x');
    // shorten.unit.spec.ts tests each rule of destinations and fields.
    it('of any host and length', async () => {
      for (const url of [
        'https://example.com',
        'hTTp://EXAMPLE.com:8080/a/../b?q=%20&r=a+b#fragment',
        'https://bücher.example/straße?q=ä',
        'http://intranet/',
        'http://[2001:db8::1]/',
        pad(2_048),
      ]) {
        const link = await bench.link(pro.key, { url });
        expect(link.url).to.equal(url);
        expect((await bench.stats(link.shortCode, pro.key)).url).to.equal(url);
      }
    });

    it('except for surrounding white space', async () => {
      const { url } = await bench.link(pro.key, { url: ' \t\n https://example.com/trimmed \r\n' });
      expect(url).to.equal('https://example.com/trimmed');
    });

    it('but not an invalid URL', async () => {
      for (const url of [
        undefined,
        42,
        'example.com',
        'javascript:alert(1)',
        'https://user:secret@example.com/',
        'https://example.com/\r\nSet-Cookie: a=b',
      ]) {
        expectRefused(await shorten({ url }), 400, badUrl);
      }
    });

    it('but not more than 2,048 characters, as sent and percent-encoded', async () => {
      const message = 'URL must be at most 2048 characters';
      for (const url of [pad(2_049), `https://example.com/${'ä'.repeat(400)}`]) {
        expectRefused(await shorten({ url }), 400, message, { reason: 'tooLong' });
      }
    });

    it('but not on our own hosts', async () => {
      const { api, edge, admin } = bench.product;
      const ports = [api, edge, admin].map((address) => new URL(address).port);
      const own = ports.flatMap((port) => [
        `http://127.0.0.1:${port}/x`,
        `http://localhost:${port}`,
        `http://LOCALHOST:${port}/x`,
        `http://localhost.:${port}/x`,
        `http://[::1]:${port}/x`,
        `https://2130706433:${port}/`,
      ]);
      for (const url of own) expectRefused(await shorten({ url }), 400, badUrl);
    });
  });

  describe('rejects', () => {
    const alias = 'Alias must be between 3 and 50 characters';
    const aliasCharacters = 'Alias may only contain letters, numbers, hyphens and underscores';
    const reserved = 'This alias is reserved and cannot be used';
    const password = 'Password must be between 4 and 100 characters';
    const expiresLow = 'expiresIn must be at least 60 seconds (1 minute)';
    const expiresHigh = 'expiresIn must be at most 315360000 seconds (10 years)';
    const clicksLow = 'maxClicks must be at least 1';
    const clicksHigh = 'maxClicks must be at most 1000000000';
    it('each field with its message', async () => {
      for (const [fields, message] of [
        [{ alias: 'ab' }, alias],
        [{ alias: 'a'.repeat(51) }, alias],
        [{ alias: 'abc/def' }, aliasCharacters],
        [{ alias: 123 }, 'alias must be a string'],
        [{ alias: 'API' }, reserved],
        [{ alias: 'paypa1' }, reserved],
        [{ alias: 'login-paypal1' }, reserved],
        [{ password: 'abc' }, password],
        [{ password: 1234 }, 'password must be a string'],
        [{ expiresIn: 59 }, expiresLow],
        [{ expiresIn: 315_360_001 }, expiresHigh],
        [{ expiresIn: 60.5 }, 'expiresIn must be a whole number of seconds'],
        [{ expiresIn: '60' }, 'expiresIn must be a number'],
        [{ maxClicks: 0 }, clicksLow],
        [{ maxClicks: 1_000_000_001 }, clicksHigh],
        [{ maxClicks: 1.5 }, 'maxClicks must be an integer'],
      ] as const) {
        expectRefused(await shorten({ url: destination, ...fields }), 400, message);
      }
    });

    it('no value just within the limits', async () => {
      for (const fields of [
        { alias: 'abc', password: 'abcd', expiresIn: 60, maxClicks: 1 },
        { alias: 'A-b_9'.repeat(10), password: 'a'.repeat(100), expiresIn: 315_360_000 },
        { alias: 'pineapple-support', maxClicks: 1_000_000_000 },
      ]) {
        expect((await bench.link(pro.key, fields)).alias).to.equal(fields.alias);
      }
    });

    it('the first invalid field in the contract’s order, whatever the order in the body', async () => {
      const wrong = { maxClicks: 0, expiresIn: 1, password: 'a', alias: 'a', url: 'a' };
      const { url, ...noUrl } = wrong;
      const { alias: short, ...noAlias } = noUrl;
      const { password: weak, ...noPassword } = noAlias;
      const { expiresIn, ...noExpiry } = noPassword;
      expect([url, short, weak, expiresIn]).to.deep.equal(['a', 'a', 'a', 1]);
      expectRefused(await shorten(wrong), 400, badUrl);
      expectRefused(await shorten({ ...noUrl, url: destination }), 400, alias);
      expectRefused(await shorten({ ...noAlias, url: destination }), 400, password);
      expectRefused(await shorten({ ...noPassword, url: destination }), 400, expiresLow);
      expectRefused(await shorten({ ...noExpiry, url: destination }), 400, clicksLow);
    });

    it('an alias that is or was in use, in any account', async () => {
      const other = (await bench.key('HOBBY', { account: 'other' })).key;
      await bench.link(pro.key, { alias: 'in-use', maxClicks: 1 });
      const again = { url: destination, alias: 'in-use' };
      expectRefused(await shorten(again), 400, 'Alias is already taken');
      expectRefused(await bench.shorten(other, again), 400, 'Alias is already taken');
      expect((await bench.visit('in-use')).status).to.equal(302);
      expect((await bench.visit('in-use')).status).to.equal(410);
      expectRefused(await shorten(again), 400, 'Alias is already taken');
    });

    it('a generated code as an alias', async () => {
      const { shortCode } = await bench.link(pro.key);
      const response = await shorten({ url: destination, alias: shortCode });
      expectRefused(response, 400, 'Alias is already taken');
    });

    it('no alias that differs only in case', async () => {
      await bench.link(pro.key, { alias: 'CaseMatters', url: 'https://example.com/upper' });
      await bench.link(pro.key, { alias: 'casematters', url: 'https://example.com/lower' });
      const upper = await bench.visit('CaseMatters');
      expect(upper.headers.location).to.equal('https://example.com/upper');
      expect((await bench.visit('CASEMATTERS')).status).to.equal(404);
    });

    it('an alias on FREE', async () => {
      const { key } = await bench.key('FREE');
      expectBody(await bench.shorten(key, { url: destination, alias: 'not-on-free' }), 403, {
        statusCode: 403,
        message: 'Custom aliases require the HOBBY plan or higher.',
        error: 'Forbidden',
        feature: 'customAlias',
        currentPlan: 'FREE',
        upgradeUrl,
      });
      expect((await bench.visit('not-on-free')).status).to.equal(404);
    });

    it('no alias on other plans', async () => {
      for (const plan of ['HOBBY', 'INDIE', 'PRO'] as const) {
        const { key } = await bench.key(plan);
        const alias = `alias-on-${plan}`;
        expect((await bench.link(key, { alias })).alias).to.equal(alias);
      }
    });
  });

  describe('with a body', () => {
    const post = (body: string | Buffer, type: string = json): Promise<HttpResponse> =>
      bench.shorten(pro.key, body, { 'Content-Type': type });

    it('that is malformed responds with 400', async () => {
      for (const text of ['{', "{'url':'x'}", '{"url":"a"}}', 'url=a', '\u0000', '[1,]']) {
        expectRefused(await post(text), 400, 'Invalid JSON body');
      }
    });

    it('accepts gzip and brotli', async () => {
      const text = JSON.stringify({ url: destination });
      const packed = (encoding: string, body: Buffer): Promise<HttpResponse> =>
        bench.shorten(pro.key, body, { 'Content-Type': json, 'Content-Encoding': encoding });
      expect((await packed('gzip', gzipSync(text))).status).to.equal(201);
      expect((await packed('br', brotliCompressSync(text))).status).to.equal(201);
      const invalid = 'Invalid JSON body';
      expectRefused(await packed('gzip', gzipSync(text).subarray(0, -9)), 400, invalid);
      for (const encoding of ['gzip', 'deflate', 'br']) {
        expectRefused(await packed(encoding, Buffer.from('neither')), 400, invalid);
      }
      const unknown = await packed('rot13', Buffer.from(text));
      expectRefused(unknown, 415, 'Content-Type must be application/json');
    });

    it('that is empty or not an object counts as {}', async () => {
      for (const text of ['', ' \n', '{}', 'null', '[]', '"https://example.com/"', '42']) {
        expectRefused(await post(text), 400, badUrl);
      }
    });

    const url = '"url":"https://example.com/"';
    const disallowed: readonly [string, string][] = [
      [`{${url},"__proto__":{"alias":"polluted"}}`, '__proto__'],
      [`{${url},"constructor":1}`, 'constructor'],
      [`{${url},"prototype":null}`, 'prototype'],
      [`{${url},"a":[{"b":{"__proto__":0}}]}`, '__proto__'],
      [`{${url},"\\u005f_proto__":{}}`, '__proto__'],
      ['[{"constructor":{}}]', 'constructor'],
    ];
    it('rejects disallowed properties', async () => {
      for (const [text, property] of disallowed) {
        expectRefused(await post(text), 400, `property ${property} should not exist`);
      }
    });

    it('accepts 32 levels of nesting', async () => {
      const nested = (levels: number): string =>
        `{${url},"a":${'['.repeat(levels - 1)}"[{[{"${']'.repeat(levels - 1)}}`;
      expect((await post(nested(32))).status).to.equal(201);
      expectRefused(await post(nested(33)), 400, 'Invalid JSON body');
    });

    it('requires the type application/json', async () => {
      const refused = [415, 'Content-Type must be application/json'] as const;
      for (const type of ['text/plain', 'application/jsonx', 'json', 'application/vnd.api+json']) {
        expectRefused(await post(`{${url}}`, type), ...refused);
      }
      for (const body of [`{${url}}`, undefined]) {
        const untyped = await bench.api('/v2/shorten', pro.key, { method: 'POST', body });
        expectRefused(untyped, ...refused);
      }
    });

    it('accepts at most 64 KiB', async () => {
      const body = (bytes: number): string => {
        const start = `{${url},"padding":"`;
        return `${start.padEnd(bytes - 2, 'x')}"}`;
      };
      expect((await post(body(65_536))).status).to.equal(201);
      expectRefused(await post(body(65_537)), 413, 'Request body is too large');
      const chunked = { 'Content-Type': json, 'Transfer-Encoding': 'chunked' };
      const send = (text: string): Promise<HttpResponse> =>
        bench.api('/v2/shorten', pro.key, { method: 'POST', body: text, headers: chunked });
      expect((await send(body(65_536))).status).to.equal(201);
      expectRefused(await send(body(65_537)), 413, 'Request body is too large');
    });

    it('is limited in bytes, not characters', async () => {
      const text = `{${url},"padding":"${'ä'.repeat(40_000)}"}`;
      expect(text.length).to.be.below(65_536);
      expectRefused(await post(text), 413, 'Request body is too large');
    });
  });
});
