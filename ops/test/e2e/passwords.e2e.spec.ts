import { expect } from 'chai';
import { concurrently, statuses, type HttpResponse, type RequestOptions } from '../support/http.js';
import { destination, expectError, keyFixture, passwordForm, sharedProduct } from './harness.js';

const password = 'correct horse & bätterie';
const tooMany = 'Too many attempts. Try again later.';
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };

describe('a link with a password', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'passwords' });
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
    client = newClient(),
    headers: Record<string, string> = {},
  ): Promise<HttpResponse> =>
    bench.visit(
      shortCode,
      passwordForm(tried, { headers: { 'X-Forwarded-For': client, ...headers } }),
    );

  const expectForm = (response: HttpResponse, status: 200 | 401): void => {
    expect(response.status, response.text).to.equal(status);
    expect(response.headers).to.include({
      ...{ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    });
    const policy = response.headers['content-security-policy'];
    expect(policy).to.match(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; /);
    expect(policy).to.include("form-action 'self' http: https:; frame-ancestors 'none'");
    expect(response.headers).not.to.have.property('location');
    expect(response.text).not.to.include('example.com');
    expect(response.text).to.include('<form method="post">').and.include('<label for="password">');
    for (const text of ['aria-describedby="error"', 'id="error"']) {
      expect(response.text.includes(text)).to.equal(status === 401);
    }
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

  it('is created without the password in the response', async () => {
    const response = await bench.shorten(pro.key, { url: destination, password });
    expect(response.json()).to.have.all.keys('shortUrl', 'shortCode', 'url', 'createdAt');
    expect(response.text).not.to.match(/argon2|password/i);
  });

  it('shows a form, and redirects with the right password, also in another normal form', async () => {
    const shortCode = await code();
    expectForm(await bench.visit(`${shortCode}.`), 200);
    const client = newClient();
    expectForm(await enter(shortCode, 'wrong', client), 401);
    expectEntered(await enter(`${shortCode}%E2%80%9D`, password, client));
    expectEntered(await enter(shortCode, password.normalize('NFD'), client));
    await bench.expectClicks(shortCode, pro.key, 2);
  });

  it('shows the form to bots too, and counts their submission as that of a person', async () => {
    const shortCode = await code();
    const headers = { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' };
    expectForm(await bench.visit(shortCode, { headers }), 200);
    const head = await bench.visit(shortCode, { headers, method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expectEntered(await enter(shortCode, password, newClient(), headers));
    await bench.expectClicks(shortCode, pro.key, 1);
  });

  it('accepts a POST of a form in UTF-8 of at most 4 KiB, and nothing else', async () => {
    const shortCode = await code();
    const large = passwordForm('x'.repeat(5_000));
    const chunked = { headers: { ...large.headers, 'Transfer-Encoding': 'chunked' } };
    for (const [status, message, options] of [
      [400, 'The form must be UTF-8', { headers: form, body: 'password=b%E4tterie' }],
      [413, 'Request body is too large', large],
      [413, 'Request body is too large', { ...large, ...chunked }],
      [
        ...([415, 'Content-Type must be application/x-www-form-urlencoded'] as const),
        { body: { password } },
      ],
      [405, 'Method Not Allowed', { method: 'PUT' }],
    ] satisfies readonly (readonly [number, string, RequestOptions])[]) {
      const response = await bench.visit(shortCode, { method: 'POST', ...options });
      const { method = 'POST' } = options;
      expectError(response, { status, message, path: `/${shortCode}`, method });
    }
    expectForm(await enter(shortCode, 'x'.repeat(4_000)), 401);
    const { shortCode: open } = await bench.link(pro.key);
    expect((await enter(open, password)).status).to.equal(405);
  });

  describe('limits guesses', () => {
    const expectThrottled = (response: HttpResponse, shortCode: string): void => {
      const retryAfter = Number(response.headers['retry-after']);
      expectError(response, {
        ...{ status: 429, message: tooMany, path: `/${shortCode}`, method: 'POST', retryAfter },
      });
      expect(retryAfter).to.be.within(1, 30);
    };

    it('to five wrong ones a minute for each client and link', async () => {
      const shortCode = await code();
      const client = newClient();
      for (let attempts = 0; attempts < 5; attempts += 1) {
        expectForm(await enter(shortCode, `guess ${attempts}`, client), 401);
      }
      expectThrottled(await enter(shortCode, password, client), shortCode);
      const page = await enter(shortCode, password, client, { Accept: 'text/html' });
      expect(page.status).to.equal(429);
      expect(page.headers['content-type']).to.equal('text/html; charset=utf-8');
      expect(page.text).to.include(tooMany);
      expectEntered(await enter(shortCode, password));
      expectEntered(await enter(await code(), password, client));
    });

    it('per IPv6 /64, also when they are concurrent', async () => {
      const shortCode = await code();
      const responses = await concurrently(40, (index) =>
        enter(shortCode, `guess ${index}`, `192.0.2.${index}, 2001:db8:0:1::${index}`),
      );
      expect(statuses(responses)).to.deep.equal({ 401: 5, 429: 35 });
      expectForm(await enter(shortCode, 'wrong', '2001:db8:0:2::1'), 401);
    });
  });
});
