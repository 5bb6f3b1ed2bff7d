import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { scopeNames } from '../../../schemas/scopes.js';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectBody,
  expectEnvelope,
  expectError,
  invalidKey,
  productFixture,
} from './harness.js';

const proxy = '127.0.0.9';

const signedOut = { statusCode: 401, message: messages.sessionOver, error: 'Unauthorized' };

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const setCookie = ({ headers }: HttpResponse): string => headers['set-cookie']?.join() ?? '';
const cookieOf = (response: HttpResponse): string => setCookie(response).split(';')[0] ?? '';

describe('product: console', () => {
  const bench = productFixture({ TRUSTED_PROXIES: proxy, LOG_LEVEL: 'trace' });
  let addresses: { readonly upgradeUrl: string | null; readonly shortUrlHost: string };

  before(async () => {
    const { key } = await bench.key('PRO');
    const shortUrlHost = new URL((await bench.link(key)).shortUrl).origin;
    addresses = { upgradeUrl: null, shortUrlHost };
  });

  /** Sends a request as a page of this listener's console does. */
  const sendFromPage = (
    listener: string,
    method: string,
    path: string,
    { headers, ...options }: RequestOptions = {},
  ): Promise<HttpResponse> =>
    sendRequest(listener + path, { method, ...options, headers: { Origin: listener, ...headers } });

  const signIn = (body: unknown, options: RequestOptions = {}, listener = bench.product.api) =>
    sendFromPage(listener, 'POST', '/console/session', { ...options, body });

  /** Signs in with a new key at the first API. */
  const session = async (plan: 'FREE' | 'PRO' = 'PRO') => {
    const key = await bench.key(plan);
    const response = await signIn({ key: key.key });
    expect(response.status, response.text).to.equal(200);
    const Cookie = cookieOf(response);
    return {
      ...key,
      Cookie,
      ask: (method: string, path: string, body?: unknown, api = bench.product.api) =>
        sendFromPage(api, method, path, { headers: { Cookie }, body }),
    };
  };

  const operator = (actor: string, options: RequestOptions = {}) =>
    signIn({ token: bench.product.adminToken, actor }, options, bench.product.admin);

  describe('signing in with a key', () => {
    it('sets a cookie without the key, and returns the account', async () => {
      const { key, id, name, account } = await bench.key('HOBBY', { account: 'acme' });
      const response = await signIn({ key });
      expectBody(response, 200, {
        account,
        key: { id, name, plan: 'HOBBY', scopes: [...scopeNames] },
        ...addresses,
      });
      expect(setCookie(response)).to.match(
        /^linklog_console=[\w-]{43}; Path=\/console; Max-Age=604800; HttpOnly; SameSite=Strict$/,
      );
      expect(response.text + setCookie(response)).not.to.include(key);
      const headers = { Cookie: cookieOf(response) };
      for (const api of bench.product.apis) {
        const known = await sendRequest(`${api}/console/session`, { headers });
        expectBody(known, 200, {
          account,
          key: { id, name, plan: 'HOBBY', scopes: [...scopeNames] },
          ...addresses,
        });
      }
    });

    it('ends the previous session, and never repeats a token', async () => {
      const first = await session();
      const again = await signIn({ key: first.key }, { headers: { Cookie: first.Cookie } });
      expect(cookieOf(again)).not.to.equal(first.Cookie);
      expect((await first.ask('GET', '/console/session')).status).to.equal(204);
    });

    it('accepts a key, or a token with accept', async () => {
      const path = '/console/session';
      const message = 'Give key, or token and accept';
      for (const body of [{}, { key: 1 }, { token: 'x' }, []]) {
        expectError(await signIn(body), { status: 400, message, path, method: 'POST' });
      }
    });

    it('gets 429 after ten wrong keys in a minute; the right key is always accepted', async () => {
      const from = { localAddress: '127.0.0.2' };
      const { key } = await bench.key('FREE');
      const wrong = [`ll_${'0'.repeat(38)}`, key.toUpperCase(), ''];
      const guesses = await concurrently(40, (guess) => signIn({ key: wrong[guess % 3] }, from));
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 30 });
      for (const guess of guesses) if (guess.status === 401) expectBody(guess, 401, invalidKey);
      const late = guesses.find(({ status }) => status === 429);
      expect(Number(late?.headers['retry-after'])).to.be.within(1, 60);
      expect((await signIn({ key }, from)).status).to.equal(200);
      expect((await signIn({ key: '' }, from)).status).to.equal(429);
      expect((await signIn({ key: '' })).status).to.equal(401);
    });

    it('accepts concurrent sign-ins', async () => {
      const { key } = await bench.key('FREE');
      const from = { localAddress: '127.0.0.3' };
      for (let round = 0; round < 3; round += 1) {
        expect(statuses(await concurrently(8, () => signIn({ key }, from)))).to.deep.equal({
          200: 8,
        });
      }
    });
  });

  describe('a session', () => {
    it('authenticates below /console/v2 only', async () => {
      const { key, ask: request, Cookie } = await session();
      const created = await request('POST', '/console/v2/shorten', { url: destination });
      expect(created.status, created.text).to.equal(201);
      const { shortCode } = created.json() as { shortCode: string };
      expect((await bench.visit(shortCode)).status).to.equal(302);
      const tagged = { shortCodes: [shortCode, 'unknown'], change: { addTags: ['a'] } };
      expect((await request('POST', '/console/v2/links/bulk', tagged)).status).to.equal(200);
      const usage = await request('GET', '/console/v2/usage');
      expect(usage.json()).to.deep.nested.include({ 'calls.used': 0, 'links.used': 1 });
      for (const api of bench.product.apis) {
        const stats = await request('GET', `/console/v2/stats/${shortCode}`, undefined, api);
        expect(stats.json()).to.deep.include({ shortCode, url: destination });
      }
      for (const path of ['/v2/usage', `/v2/stats/${shortCode}`]) {
        const response = await sendRequest(bench.product.api + path, { headers: { Cookie } });
        expect(response.status, path).to.equal(401);
      }
      const headers = { Authorization: `Bearer ${key}` };
      const byKey = await sendRequest(`${bench.product.api}/console/v2/usage`, { headers });
      expectBody(byKey, 401, signedOut);
    });

    it('gets the responses of /v2: limits, errors, order of checks', async () => {
      const { ask: request, name } = await session('FREE');
      const path = '/console/v2/shorten';
      const method = 'POST';
      const bad = await request(method, path, { url: 'x' });
      expectError(bad, { status: 400, message: 'Please provide a valid URL', path, method });
      expect(bad.headers).to.include({ 'x-ratelimit-limit': '60', 'x-api-key-name': name });
      const none = '/console/v2/none';
      expectError(await request('GET', none), { status: 404, message: 'Not Found', path: none });
      expect((await request('DELETE', path)).status).to.equal(405);
      const responses = await concurrently(60, () => request('GET', '/console/v2/usage'));
      expect(statuses(responses)).to.deep.equal({ 200: 57, 429: 3 });
    });

    it('creates QR codes by POST only: no GET spends one', async () => {
      const { ask: request, key } = await session();
      const { shortCode } = await bench.link(key);
      const path = `/console/v2/qr/${shortCode}`;
      expect((await request('GET', path)).headers.allow).to.equal('POST');
      const image = await request('POST', `${path}?format=svg`);
      expect(image.headers['content-type']).to.equal('image/svg+xml');
      const usage = (await request('GET', '/console/v2/usage')).json();
      expect(usage).to.have.nested.property('qrCodes.used', 1);
    });

    it('ends with its key, on every node', async () => {
      for (const [method, body] of [
        ['DELETE', undefined],
        ['PATCH', { active: false }],
      ] as const) {
        const { id, ask: request } = await session();
        expect((await request('GET', '/console/v2/usage')).status).to.equal(200);
        expect((await bench.admin(method, `/admin/keys/${id}`, body)).status).to.equal(200);
        await eventuallyPasses(async () => {
          for (const api of bench.product.apis) {
            const session = await request('GET', '/console/session', undefined, api);
            expect(session).to.include({ status: 204, text: '' });
            expectBody(await request('GET', '/console/v2/usage', undefined, api), 401, signedOut);
          }
        });
      }
    });

    it('ends with the sign-out, which deletes the cookie', async () => {
      const { ask: request } = await session();
      const gone = await request('DELETE', '/console/session');
      expect(gone).to.include({ status: 204, text: '' });
      expect(setCookie(gone)).to.match(/^linklog_console=; Path=\/console; Max-Age=0; HttpOnly/);
      for (const api of bench.product.apis) {
        expectBody(await request('GET', '/console/v2/usage', undefined, api), 401, signedOut);
      }
      expect((await request('DELETE', '/console/session')).status).to.equal(204);
    });

    it('is valid on one listener only', async () => {
      const { admin, api } = bench.product;
      const [, developer = ''] = (await session()).Cookie.split('=');
      const [, operating = ''] = cookieOf(await operator('maria')).split('=');
      for (const [listener, Cookie, path] of [
        [admin, `linklog_operator=${developer}`, 'admin/platform'],
        [api, `linklog_console=${operating}`, 'v2/usage'],
      ] as const) {
        const headers = { Cookie };
        const session = await sendRequest(`${listener}/console/session`, { headers });
        expect(session).to.include({ status: 204, text: '' });
        expectBody(await sendRequest(`${listener}/console/${path}`, { headers }), 401, signedOut);
      }
    });
  });

  describe('the list of sessions', () => {
    interface Listed {
      readonly id: string;
      readonly isCurrent: boolean;
      readonly [field: string]: unknown;
    }
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

    /** Another session of the same key. */
    const another = async (key: string): Promise<string> =>
      cookieOf(await signIn({ key }, { headers: { 'User-Agent': firefox } }));

    const listed = async (response: Promise<HttpResponse>): Promise<readonly Listed[]> =>
      ((await response).json() as { readonly sessions: readonly Listed[] }).sessions;

    it('has those of the key, which can be ended one by one', async () => {
      const { key, ask: request } = await session();
      await session();
      const Cookie = await another(key);
      const sessions = await listed(request('GET', '/console/session/all'));
      expect(sessions.map(({ isCurrent }) => isCurrent)).to.have.members([true, false]);
      const other = sessions.find(({ isCurrent }) => !isCurrent);
      expect(other).to.include({ browser: 'Firefox', actor: null });
      const path = `/console/session/all/${other?.id ?? ''}`;
      expect((await request('DELETE', path)).status).to.equal(204);
      expect((await request('DELETE', path)).status).to.equal(404);
      const over = await sendRequest(`${bench.product.api}/console/session`, {
        headers: { Cookie },
      });
      expect(over.status).to.equal(204);
      expect(await listed(request('GET', '/console/session/all'))).to.have.length(1);
    });

    it('can be ended as a whole, on every node', async () => {
      const { key, ask: request } = await session();
      const stranger = await session();
      await another(key);
      expect((await request('DELETE', '/console/session/all')).status).to.equal(204);
      for (const api of bench.product.apis) {
        expectBody(await request('GET', '/console/session/all', undefined, api), 401, signedOut);
      }
      expect((await stranger.ask('GET', '/console/v2/usage')).status).to.equal(200);
    });

    it('has the names of operators', async () => {
      const { admin } = bench.product;
      const headers = { Cookie: cookieOf(await operator('list-maria')) };
      const sessions = await listed(sendRequest(`${admin}/console/session/all`, { headers }));
      const current = sessions.find(({ isCurrent }) => isCurrent);
      expect(current).to.include({ actor: 'list-maria' });
    });
  });

  describe('the version of the data', () => {
    const changesIn = async (response: Promise<HttpResponse>) =>
      (await response).json() as { readonly version: number; readonly maintenance: unknown };

    it('increases with changes of the account, and of no other one', async () => {
      const { key, ask: request } = await session();
      const other = await bench.key('PRO', { account: 'another-account' });
      const version = async () =>
        (await changesIn(request('GET', '/console/session/changes'))).version;
      const { shortCode } = await bench.link(key);
      // An event of the account that is older than the next check.
      await eventuallyPasses(async () => {
        const response = await bench.api(`/v2/links?search=${shortCode}`, key);
        expect((response.json() as { readonly links: unknown[] }).links).to.have.length(1);
      });
      let before = await version();
      await eventuallyPasses(async () => {
        const last = before;
        before = await version();
        expect(before).to.equal(last);
      });
      await bench.link(other.key);
      await bench.api(`/v2/links/${shortCode}`, key, { method: 'PATCH', body: { title: 'new' } });
      await eventuallyPasses(async () => {
        expect(await version()).to.be.greaterThan(before);
      });
    });

    it('comes with maintenance, whose operator only operators see', async () => {
      const { ask: request } = await session();
      const { admin } = bench.product;
      const headers = { Cookie: cookieOf(await operator('maria')) };
      const path = '/console/session/changes';
      expect(await changesIn(request('GET', path))).to.include({ maintenance: null });
      await bench.admin('PATCH', '/admin/platform', { maintenance: true });
      try {
        const seen = (await changesIn(request('GET', path))).maintenance;
        expect(seen).to.have.keys('since', 'actor').and.to.include({ actor: null });
        const operators = await changesIn(sendRequest(admin + path, { headers }));
        expect(operators.maintenance).to.include({ actor: 'admin' });
      } finally {
        await bench.admin('PATCH', '/admin/platform', { maintenance: false });
      }
      expect((await sendRequest(bench.product.api + path)).status).to.equal(204);
    });
  });

  it('is where a browser gets from the root of both listeners', async () => {
    for (const listener of [bench.product.api, bench.product.admin]) {
      const headers = { Accept: 'text/html,*/*' };
      const html = await sendRequest(`${listener}/`, { headers });
      expect([html.status, html.headers.location, html.text]).to.deep.equal([302, '/console', '']);
      expect(html.headers).to.include({ 'cache-control': 'no-store', vary: 'Accept' });
      const posted = await sendRequest(`${listener}/`, { headers, method: 'POST' });
      expect(posted.status).to.equal(404);
      expect((await sendRequest(`${listener}/`)).status).to.equal(404);
      const icon = await sendRequest(`${listener}/favicon.ico`);
      expect([icon.status, icon.headers['content-type']]).to.deep.equal([200, 'image/svg+xml']);
    }
  });

  describe('a page of another site changes nothing', () => {
    const strangers: readonly [string, Record<string, string> | null][] = [
      ['another origin', { Origin: 'https://evil.example' }],
      ['another port', { Origin: 'http://127.0.0.1:1' }],
      ['https', { Origin: 'https' }],
      ['null', { Origin: 'null' }],
      ['no origin', null],
      [
        'a forged X-Forwarded-Host',
        { Origin: 'http://evil.example', 'X-Forwarded-Host': 'evil.example' },
      ],
    ];
    for (const [origin, given] of strangers) {
      it(`with ${origin}`, async () => {
        const { api, admin, adminToken } = bench.product;
        const { key, Cookie, ask: request } = await session();
        const { shortCode } = await bench.link(key);
        const operating = cookieOf(await operator('maria'));
        const Origin =
          given?.['Origin'] === 'https' ? api.replace('http', 'https') : given?.['Origin'];
        const forged = given && { ...given, ...(Origin !== undefined && { Origin }) };
        const calls = [
          [api, Cookie, 'POST', '/console/session', { key }],
          [api, Cookie, 'DELETE', '/console/session'],
          [api, Cookie, 'POST', '/console/v2/shorten', { url: destination }],
          [api, Cookie, 'POST', `/console/v2/qr/${shortCode}`],
          [api, Cookie, 'PATCH', '/console/none'],
          [admin, operating, 'POST', '/console/session', { token: adminToken, actor: 'maria' }],
          [admin, operating, 'DELETE', '/console/session'],
          [admin, operating, 'PATCH', '/console/admin/platform', { features: { qr: false } }],
          [admin, operating, 'PUT', '/console/admin/reserved-aliases/docs/override', {}],
        ] as const;
        for (const [listener, cookie, method, path, body] of calls) {
          const response = await sendRequest(listener + path, {
            method,
            headers: { Cookie: cookie, ...forged },
            body,
          });
          const message = 'Origin must be that of the console';
          expectError(response, { status: 403, message, path, method });
          expect(setCookie(response)).to.equal('');
        }
        const usage = (await request('GET', '/console/v2/usage')).json();
        expect(usage).to.deep.nested.include({ 'links.used': 1, 'qrCodes.used': 0 });
        const headers = { Cookie: operating };
        const platform = await sendRequest(`${admin}/console/admin/platform`, { headers });
        expect(platform.json()).to.have.nested.property('features.qr', true);
      });
    }
  });

  describe('a GET that another site sends', () => {
    const message = 'Sec-Fetch-Site must be same-origin or none';

    for (const site of ['cross-site', 'same-site', 'same-origin, cross-site', 'unknown', '']) {
      it(`gets 403 and spends no call: Sec-Fetch-Site ${JSON.stringify(site)}`, async () => {
        const { Cookie, ask: request } = await session('FREE');
        const operating = cookieOf(await operator('maria'));
        for (const [listener, cookie, path] of [
          [bench.product.api, Cookie, '/console/v2/links'],
          [bench.product.api, Cookie, '/console/v2/none'],
          [bench.product.admin, operating, '/console/admin/keys'],
        ] as const) {
          const headers = { Cookie: cookie, 'Sec-Fetch-Site': site };
          const response = await sendRequest(listener + path, { headers });
          expectError(response, { status: 403, message, path });
          const head = await sendRequest(listener + path, { method: 'HEAD', headers });
          expect(head.status).to.equal(403);
        }
        const usage = await request('GET', '/console/v2/usage');
        expect(usage.headers['x-ratelimit-remaining']).to.equal('59');
      });
    }

    it('is accepted from a page of the console, from the address bar, and without the header', async () => {
      const { Cookie } = await session();
      const operating = cookieOf(await operator('maria'));
      for (const site of [{ 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }, {}]) {
        for (const [listener, cookie, path] of [
          [bench.product.api, Cookie, '/console/v2/usage'],
          [bench.product.admin, operating, '/console/admin/platform'],
        ] as const) {
          const response = await sendRequest(listener + path, {
            headers: { Cookie: cookie, ...site },
          });
          expect(response.status).to.equal(200);
        }
      }
      // Another site may link to the page.
      const headers = { 'Sec-Fetch-Site': 'cross-site' };
      expect((await sendRequest(`${bench.product.api}/console`, { headers })).status).to.equal(200);
    });
  });

  describe('two session cookies', () => {
    const planted = 'x'.repeat(43);

    it('get 401 from every call of a session, and are both cleared', async () => {
      const { key, Cookie, ask: request } = await session();
      const operating = cookieOf(await operator('maria'));
      const { api, admin, adminToken } = bench.product;
      const calls = [
        [api, Cookie, 'GET', '/console/session'],
        [api, Cookie, 'POST', '/console/session', { key }],
        [api, Cookie, 'DELETE', '/console/session'],
        [api, Cookie, 'GET', '/console/v2/usage'],
        [api, Cookie, 'POST', '/console/v2/shorten', { url: destination }],
        [admin, operating, 'GET', '/console/session'],
        [admin, operating, 'POST', '/console/session', { token: adminToken, actor: 'maria' }],
        [admin, operating, 'GET', '/console/admin/platform'],
      ] as const;
      const twice = {
        statusCode: 401,
        message: 'The request has two session cookies. Both are cleared: sign in again.',
        error: 'Unauthorized',
      };
      for (const [listener, own, method, path, body] of calls) {
        const [name = ''] = own.split('=');
        for (const cookies of [`${own}; ${name}=${planted}`, `${name}=${planted};${own}`]) {
          const headers = { Cookie: cookies };
          const response = await sendFromPage(listener, method, path, { headers, body });
          expectBody(response, 401, twice);
          const cleared = response.headers['set-cookie'] ?? [];
          for (const at of ['/', '/console', '/console/']) {
            const attributes = `Path=${at}; Max-Age=0; HttpOnly; SameSite=Strict`;
            expect(cleared).to.include(`${name}=; ${attributes}`);
          }
        }
      }
      expect((await request('GET', '/console/v2/usage')).status).to.equal(200);
    });

    it('are cleared for each possible domain and path', async () => {
      const { Cookie } = await session();
      const headers = {
        Cookie: `${Cookie}; linklog_console=${planted}`,
        'X-Forwarded-Host': 'a.b.go.example.com:8443',
        'X-Forwarded-Proto': 'https',
      };
      const path = '/console/v2/links/code/history/and/more';
      const response = await sendRequest(bench.product.api + path, {
        headers,
        localAddress: proxy,
      });
      const cleared = response.headers['set-cookie'] ?? [];
      const attributeValues = (name: string): readonly string[] => [
        ...new Set(cleared.map((cookie) => new RegExp(`${name}=([^;]+)`).exec(cookie)?.[1] ?? '')),
      ];
      expect(attributeValues('Domain')).to.deep.equal([
        '',
        'b.go.example.com',
        'go.example.com',
        'example.com',
      ]);
      expect(attributeValues('Path')).to.deep.equal([
        ...['/', '/console', '/console/', '/console/v2', '/console/v2/', '/console/v2/links'],
        ...['/console/v2/links/', '/console/v2/links/code', '/console/v2/links/code/'],
        '/console/v2/links/code/history',
      ]);
      expect(cleared).to.have.length(40);
      for (const cookie of cleared) expect(cookie).to.match(/^linklog_console=; .*; Secure$/);
    });

    it('do not include cookies with other names', async () => {
      const { Cookie } = await session();
      const headers = {
        Cookie: `a_linklog_console=x; ${Cookie}; linklog_consoles=x; LINKLOG_CONSOLE=x`,
      };
      const response = await sendRequest(`${bench.product.api}/console/v2/usage`, { headers });
      expect(response.status).to.equal(200);
    });
  });

  it('uses the origin that a trusted proxy forwards, and a Secure cookie', async () => {
    const { key } = await bench.key('PRO');
    const headers = {
      Origin: 'https://go.example.com',
      'X-Forwarded-Host': 'go.example.com',
      'X-Forwarded-Proto': 'https',
    };
    const proxied = await signIn({ key }, { headers, localAddress: proxy });
    expect(proxied.status).to.equal(200);
    expect(setCookie(proxied)).to.match(/; SameSite=Strict; Secure$/);
    expect((await signIn({ key }, { headers })).status).to.equal(403);
    const plain = { ...headers, Origin: bench.product.api };
    expect((await signIn({ key }, { headers: plain, localAddress: proxy })).status).to.equal(403);
  });

  describe('a one-time address', () => {
    const tokenIn = (url: string): string => {
      const [page, token = ''] = url.split('#t=');
      expect(bench.product.apis.map((api) => `${api}/console`)).to.include(page);
      return token;
    };

    const createAddress = async (body: object = {}): Promise<{ url: string; token: string }> => {
      const response = await bench.admin('POST', '/admin/console', body);
      expect(response.status, response.text).to.equal(201);
      const { url } = response.json() as { url: string };
      return { url, token: tokenIn(url) };
    };

    const expiredAddress = {
      statusCode: 401,
      message: 'This address was used, or is older than 10 minutes. Make another: linklog console',
      error: 'Unauthorized',
    };

    it('is printed with the first key, in the ready line and on its own line', async () => {
      const { ready, stdout } = bench.product;
      const { console: url } = ready as { console: string };
      expect(stdout().split('\n')).to.include(url);
      const response = await signIn({ token: tokenIn(url), accept: true });
      expect(response.json()).to.deep.include({ account: 'default' });
      expect(response.json()).to.have.nested.property('key.name', 'first-key');
    });

    it('shows its account any number of times, and opens it once', async () => {
      const { id, name, account } = await bench.key('INDIE', { account: 'acme' });
      const { token } = await createAddress({ key: id });
      const key = { id, name, plan: 'INDIE', scopes: [...scopeNames] };
      const whose = { account, key, ...addresses };
      const { Cookie } = await session();
      for (const api of bench.product.apis) {
        const options = { headers: { Cookie } };
        const preview = await signIn({ token, accept: false }, options, api);
        expectBody(preview, 200, whose);
        expect(setCookie(preview)).to.equal('');
      }
      const opened = await concurrently(6, (index) => {
        const { apis, api } = bench.product;
        return signIn({ token, accept: true }, {}, apis[index % apis.length] ?? api);
      });
      expect(statuses(opened)).to.deep.equal({ 200: 1, 401: 5 });
      const headers = { Cookie: opened.map(cookieOf).join('') };
      expectBody(
        await sendRequest(`${bench.product.api}/console/session`, { headers }),
        200,
        whose,
      );
      expectBody(await signIn({ token, accept: false }), 401, expiredAddress);
    });

    it('is for the oldest key by default, and ends with its key', async () => {
      const { id } = await bench.key('PRO');
      const { token } = await createAddress({ key: id });
      await bench.admin('DELETE', `/admin/keys/${id}`);
      expectBody(await signIn({ token, accept: true }), 401, expiredAddress);
      const first = await signIn({ token: (await createAddress()).token, accept: false });
      expect(first.json()).to.have.nested.property('key.name', 'first-key');
      const path = '/admin/console';
      const message = 'No such API key is active';
      expectError(await bench.admin('POST', path, { key: id }), {
        ...{ status: 404, message, path, method: 'POST' },
      });
    });

    it('is created by the command line too', async () => {
      const { id, name } = await bench.key('FREE');
      const { dataDir } = bench.product;
      const args = ['console', '--key', id];
      const said = await startLinklogCli(args, { DATA_DIR: dataDir }).ended;
      expect(said).to.include({ exitCode: 0, stderr: '' });
      const token = tokenIn(said.stdout.split('\n')[0] ?? '');
      expect(said.stdout).to.include(name);
      expect((await signIn({ token, accept: true })).status).to.equal(200);
      const json = await startLinklogCli(['console', '--json'], { DATA_DIR: dataDir }).ended;
      expect(JSON.parse(json.stdout)).to.have.all.keys('url', 'account', 'key');
    });

    it('accepts ten guesses a minute', async () => {
      const from = { localAddress: '127.0.0.4' };
      const guesses = await concurrently(20, (guess) =>
        signIn({ token: 'x'.repeat(43), accept: guess % 2 === 0 }, from),
      );
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 10 });
      const { token } = await createAddress();
      for (const accept of [false, true]) {
        expect((await signIn({ token, accept }, from)).status).to.equal(200);
      }
    });
  });

  describe('a session of an operator', () => {
    it('requires the admin token and a name, which becomes the actor', async () => {
      const { admin, admins, adminToken } = bench.product;
      const response = await operator('maria', { headers: { 'X-Actor': 'other' } });
      expectBody(response, 200, { actor: 'maria', shortUrlHost: addresses.shortUrlHost });
      expect(setCookie(response)).to.match(
        /^linklog_operator=[\w-]{43}; Path=\/console; .*HttpOnly; SameSite=Strict$/,
      );
      expect(response.text + setCookie(response)).not.to.include(adminToken);
      const headers = { Cookie: cookieOf(response) };
      const { key } = await bench.key('PRO');
      const { shortCode } = await bench.link(key);
      const path = `/console/admin/links/${shortCode}`;
      const blocked = await sendFromPage(admin, 'POST', `${path}/block`, {
        headers,
        body: { reason: 'phishing' },
      });
      expect(blocked.json()).to.deep.equal({ shortCode, blocked: true });
      const history = await sendRequest(`${admin}${path}/history`, { headers });
      const { events } = history.json() as { events: { actor: string }[] };
      expect(events.at(-1)?.actor).to.equal('maria');
      // The session is valid on each node that has an API.
      for (const other of admins.slice(0, bench.product.apis.length)) {
        expectBody(await sendRequest(`${other}/console/session`, { headers }), 200, {
          actor: 'maria',
          shortUrlHost: addresses.shortUrlHost,
        });
      }
      expect((await sendRequest(`${admin}/admin/platform`, { headers })).status).to.equal(401);
      expect(
        (await sendFromPage(admin, 'DELETE', '/console/session', { headers })).status,
      ).to.equal(204);
      expectBody(await sendRequest(`${admin}/console/admin/platform`, { headers }), 401, signedOut);
    });

    it('rejects reserved names', async () => {
      const path = '/console/session';
      for (const [actor, message] of [
        ['system', 'actor must not be system, web-safety, visitor or the id of a key'],
        ['a\nb', 'actor must have 1 to 64 characters, none of them control characters'],
      ] as const) {
        expectError(await operator(actor), { status: 400, message, path, method: 'POST' });
      }
    });

    it('counts guesses of the token together with those at /admin', async () => {
      const from = { localAddress: '127.0.0.5' };
      const { admin } = bench.product;
      const guesses = await concurrently(20, (guess) =>
        guess % 2 === 0
          ? signIn({ token: 'x'.repeat(32), actor: 'maria' }, from, admin)
          : sendRequest(`${admin}/admin/platform`, {
              ...from,
              headers: { Authorization: 'Bearer wrong' },
            }),
      );
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 10 });
      expect((await operator('maria', from)).status).to.equal(200);
    });
  });

  it('sends its content security policy with every response, which forbids frames', async () => {
    const { api, admin } = bench.product;
    for (const listener of [api, admin]) {
      for (const path of [
        '/console',
        '/console/',
        '/console/any/page',
        '/console/session',
        '/console/assets/x.js',
        '/console/v2/usage',
        '/console/admin/platform',
      ]) {
        for (const method of ['GET', 'POST']) {
          const { headers } = await sendRequest(listener + path, { method });
          expect(headers, `${method} ${path}`).to.include({
            'content-security-policy': policy,
            'referrer-policy': 'no-referrer',
            'x-content-type-options': 'nosniff',
          });
        }
      }
    }
  });

  it('logs neither keys nor tokens', async () => {
    const { key, Cookie } = await session();
    const { token } = (await bench.admin('POST', '/admin/console', {})).json() as { token: string };
    await signIn({ token, accept: true });
    const [, cookie = ''] = Cookie.split('=');
    for (const secret of [key, cookie, token, bench.product.adminToken]) {
      expect(bench.product.stderr()).not.to.include(secret);
    }
  });
});

describe('product: no console, with CONSOLE=0', () => {
  const bench = productFixture({ CONSOLE: '0' });

  it('responds with 404 on both listeners, and has no address or link of a console', async () => {
    const { api, admin, ready } = bench.product;
    for (const listener of [api, admin]) {
      for (const path of [
        '/console',
        '/console/session',
        '/console/v2/usage',
        '/console/admin/platform',
      ]) {
        for (const method of ['GET', 'POST']) {
          expectEnvelope(
            await sendRequest(listener + path, { method, headers: { Origin: listener } }),
            {
              ...{ status: 404, message: 'Not Found', path, method },
            },
          );
        }
      }
    }
    for (const path of ['/docs', '/docs/events']) {
      const page = await sendRequest(api + path);
      expect(page.text, path)
        .to.include('asyncapi.json')
        .but.not.match(/href="[^"]*console|data-address/);
    }
    expect(ready).to.have.property('firstKey');
    expect(ready).not.to.have.property('console');
    expect((await bench.admin('POST', '/admin/console', {})).status).to.equal(404);
  });
});
