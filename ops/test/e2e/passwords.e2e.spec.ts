import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { concurrently, statuses, type HttpResponse, type RequestOptions } from '../support/http.js';
import {
  destination,
  expectBody,
  expectError,
  keyFixture,
  passwordForm,
  productFixture,
  upgradeUrl,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';

const password = 'correct horse & bätterie';
const tooMany = 'Too many attempts. Try again later.';
const html = 'text/html,application/xhtml+xml,*/*;q=0.8';

describe('redirect edge: link with a password', () => {
  // X-Forwarded-For sets the client address of a test.
  const bench = productFixture({ TRUSTED_PROXIES: '127.0.0.1/32, ::1' });
  const pro = keyFixture(bench, 'PRO');
  let lastClient = 0;

  const code = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, { password, ...body })).shortCode;

  /** A new client address. */
  const newClient = (): string => {
    lastClient += 1;
    return `198.51.100.${lastClient}`;
  };

  const enter = (
    shortCode: string,
    tried: string,
    client: string,
    headers: Record<string, string> = {},
  ): Promise<HttpResponse> =>
    bench.visit(
      shortCode,
      passwordForm(tried, { headers: { 'X-Forwarded-For': client, ...headers } }),
    );

  const expectForm = (response: HttpResponse, status: 200 | 401): void => {
    expect(response.status, response.text).to.equal(status);
    expect(response.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(response.headers['cache-control']).to.equal('no-store');
    const policy = response.headers['content-security-policy'];
    expect(policy).to.match(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; /);
    expect(policy).to.include("form-action 'self' http: https:; frame-ancestors 'none'");
    expect(response.headers).not.to.have.property('location');
    expect(response.text).not.to.include('example.com');
    expect(response.text).to.include('<form method="post">').and.include('<label for="password">');
    expect(response.text.includes('aria-describedby="error"')).to.equal(status === 401);
    expect(response.text.includes('id="error"')).to.equal(status === 401);
  };

  const expectEntered = (response: HttpResponse): void => {
    expect(response.status, response.text).to.equal(303);
    expect(response.headers).to.include({
      location: destination,
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer-when-downgrade',
      'x-content-type-options': 'nosniff',
      'content-length': '0',
    });
  };

  const expectClicks = (shortCode: string, clicks: number): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await bench.stats(shortCode, pro.key)).clickCount).to.equal(clicks);
    });

  it('is created without the password in the response', async () => {
    const response = await bench.shorten(pro.key, { url: destination, password });
    expect(response.status).to.equal(201);
    expect(response.json()).to.have.all.keys('shortUrl', 'shortCode', 'url', 'createdAt');
    expect(response.text).not.to.match(/argon2|password/i);
  });

  it('needs the INDIE plan', async () => {
    const { key } = await bench.key('HOBBY');
    expectBody(await bench.shorten(key, { url: destination, password }), 403, {
      statusCode: 403,
      message: 'Password protection requires the INDIE plan or higher.',
      error: 'Forbidden',
      feature: 'passwordProtection',
      currentPlan: 'HOBBY',
      upgradeUrl,
    });
  });

  it('can be created in a batch, each link with its own password', async () => {
    const passwords = Array.from({ length: 12 }, (_, index) => `password ${index}`);
    const urls = passwords.map((own) => ({ url: destination, password: own }));
    const response = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: { urls: [...urls, { url: destination }, { url: destination, password: 'abc' }] },
    });
    expect(response.status).to.equal(200);
    expect(response.text).not.to.include('argon2');
    const { results } = response.json() as { results: { success: boolean; shortCode: string }[] };
    expect(results.map(({ success }) => success)).to.deep.equal([
      ...passwords.map(() => true),
      true,
      false,
    ]);
    const client = newClient();
    for (const [index, own] of passwords.entries()) {
      expectEntered(await enter(results[index]?.shortCode ?? '', own, client));
    }
    expect((await bench.visit(results[12]?.shortCode ?? '')).status).to.equal(302);
  });

  it('shows a form on GET, and redirects with the right password', async () => {
    const shortCode = await code();
    expectForm(await bench.visit(shortCode), 200);
    const client = newClient();
    expectForm(await enter(shortCode, 'wrong', client), 401);
    expectEntered(await enter(shortCode, password, client));
    // The same characters in another normal form.
    expectEntered(await enter(shortCode, password.normalize('NFD'), client));
    await expectClicks(shortCode, 2);
  });

  it('accepts a password of 100 arbitrary characters', async () => {
    const longest = '🔑'.repeat(100);
    const shortCode = await code({ password: longest });
    const page = await bench.visit(shortCode);
    const maxLength = Number(/maxlength="(\d+)"/.exec(page.text)?.[1]);
    // A browser counts UTF-16 code units.
    expect(maxLength).to.be.at.least(longest.length);
    expectEntered(await enter(shortCode, longest, newClient()));
  });

  it('shows the form to every client, and redirects every client with the password', async () => {
    const shortCode = await code();
    for (const userAgent of [
      'Mozilla/5.0 (compatible; Googlebot/2.1)',
      'Mozilla/5.0 (Linux; Android 13; Spider 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36',
    ]) {
      const headers = { 'User-Agent': userAgent };
      const page = await bench.visit(shortCode, { headers });
      expectForm(page, 200);
      const head = await bench.visit(shortCode, { headers, method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      for (const name of ['content-type', 'content-length', 'content-security-policy'] as const) {
        expect(head.headers[name], name).to.equal(page.headers[name]);
      }
      expectForm(await enter(shortCode, 'wrong', newClient(), headers), 401);
      expectEntered(await enter(shortCode, password, newClient(), headers));
    }
    // Crawlers submit no forms, so each submission counts as a person.
    await expectClicks(shortCode, 2);
  });

  it('works with a pasted short URL', async () => {
    const shortCode = await code();
    expectForm(await bench.visit(`${shortCode}.`), 200);
    expectEntered(await enter(`${shortCode}%E2%80%9D`, password, newClient()));
  });

  it('rejects a form that is not UTF-8', async () => {
    const shortCode = await code();
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = 'password=b%E4tterie';
    expectError(await bench.visit(shortCode, { method: 'POST', headers, body }), {
      status: 400,
      message: 'The form must be UTF-8',
      path: `/${shortCode}`,
      method: 'POST',
    });
  });

  it('allows POST, unlike other links', async () => {
    const shortCode = await code();
    const put = await bench.visit(shortCode, { method: 'PUT' });
    expectError(put, {
      status: 405,
      message: 'Method Not Allowed',
      path: `/${shortCode}`,
      method: 'PUT',
    });
    expect(put.headers.allow).to.equal('GET, HEAD, POST');
    const open = (await bench.link(pro.key)).shortCode;
    const post = await enter(open, password, newClient());
    expect(post.status).to.equal(405);
    expect(post.headers.allow).to.equal('GET, HEAD');
    expect((await enter(`${open}+`, password, newClient())).headers.allow).to.equal('GET, HEAD');
  });

  it('accepts a form of at most 4 KiB, and no other body', async () => {
    const shortCode = await code();
    const path = `/${shortCode}`;
    const json: RequestOptions = { method: 'POST', body: { password } };
    expectError(await bench.visit(shortCode, json), {
      status: 415,
      message: 'Content-Type must be application/x-www-form-urlencoded',
      path,
      method: 'POST',
    });
    const tooLarge = { status: 413, message: 'Request body is too large', path, method: 'POST' };
    const large = 'x'.repeat(5_000);
    expectError(await enter(shortCode, large, newClient()), tooLarge);
    const chunked = { 'Transfer-Encoding': 'chunked' };
    expectError(await enter(shortCode, large, newClient(), chunked), tooLarge);
    expectForm(await enter(shortCode, 'x'.repeat(4_000), newClient()), 401);
  });

  it('rejects a form without the field', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ other: password }).toString();
    expectForm(await bench.visit(await code(), { method: 'POST', headers, body }), 401);
  });

  it('keeps its click limit exactly with concurrent visitors', async () => {
    const shortCode = await code({ maxClicks: 7 });
    expectForm(await bench.visit(shortCode), 200);
    const responses = await concurrently(30, (index) =>
      // Half of them from one address, which may have fewer wrong attempts.
      enter(shortCode, password, index < 15 ? '203.0.113.77' : newClient()),
    );
    // On a busy machine, a visitor may get 503, whose click may be spent.
    const { 303: redirected = 0, 410: late = 0, 503: refused = 0 } = statuses(responses);
    expect(redirected + late + refused).to.equal(30);
    expect(redirected).to.be.within(7 - refused, 7);
    expect((await enter(shortCode, 'wrong', newClient())).status).to.equal(410);
    expect((await bench.visit(shortCode)).status).to.equal(410);
    await expectClicks(shortCode, 7);
  });

  describe('limits guesses', () => {
    const expectThrottled = (response: HttpResponse, shortCode: string): void => {
      const retryAfter = Number(response.headers['retry-after']);
      expectError(response, {
        status: 429,
        message: tooMany,
        path: `/${shortCode}`,
        method: 'POST',
        retryAfter,
      });
      expect(retryAfter).to.be.within(1, 30);
    };

    it('to five wrong ones a minute, even if the sixth is right; other visitors are not affected', async () => {
      const shortCode = await code();
      const client = newClient();
      for (let attempts = 0; attempts < 5; attempts += 1) {
        expectForm(await enter(shortCode, `guess ${attempts}`, client), 401);
      }
      expectThrottled(await enter(shortCode, 'guess 5', client), shortCode);
      expectThrottled(await enter(shortCode, password, client), shortCode);
      const page = await enter(shortCode, password, client, { Accept: html });
      expect(page.status).to.equal(429);
      expect(page.headers['content-type']).to.equal('text/html; charset=utf-8');
      expect(page.text).to.include(tooMany);
      expectEntered(await enter(shortCode, password, newClient()));
      // The same client at another link.
      expectEntered(await enter(await code(), password, client));
    });

    it('also when they are concurrent', async () => {
      const shortCode = await code();
      const client = newClient();
      const responses = await concurrently(40, (index) =>
        enter(shortCode, `guess ${index}`, client),
      );
      expect(statuses(responses)).to.deep.equal({ 401: 5, 429: 35 });
    });

    it('per IPv6 /64, whatever an untrusted X-Forwarded-For', async () => {
      const shortCode = await code();
      for (let attempts = 0; attempts < 5; attempts += 1) {
        const client = `192.0.2.${attempts}, 2001:db8:0:1::${attempts}`;
        expectForm(await enter(shortCode, 'wrong', client), 401);
      }
      expectThrottled(await enter(shortCode, 'wrong', '2001:DB8:0:1:ffff::1'), shortCode);
      expectForm(await enter(shortCode, 'wrong', '2001:db8:0:2::1'), 401);
      const stranger = { localAddress: '127.0.0.9' };
      for (let attempts = 0; attempts < 6; attempts += 1) {
        const headers = { 'X-Forwarded-For': newClient() };
        const response = await bench.visit(
          shortCode,
          passwordForm('wrong', { headers, ...stranger }),
        );
        if (attempts < 5) expectForm(response, 401);
        else expectThrottled(response, shortCode);
      }
    });
  });

  it('writes no password, hash or address to logs and spool', async () => {
    const said = bench.product.stdout() + bench.product.stderr();
    expect(said).not.to.match(/argon2|correct horse|198\.51\.100/);
    const { spoolRoot, edges } = bench.product;
    expect(await readdir(spoolRoot)).to.have.length(edges.length);
    const files = await readdir(spoolRoot, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const text = await readFile(path.join(file.parentPath, file.name), 'latin1');
      expect(text, file.name).not.to.match(/argon2|198\.51\.100/);
    }
  });
});
