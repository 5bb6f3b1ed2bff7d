import { expect } from 'chai';
import { planNames } from '../../../schemas/plans.js';
import { scopeNames } from '../../../schemas/scopes.js';
import { sendRequest, concurrently, statuses, type HttpResponse } from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { eventuallyPasses } from '../support/waiting.js';
import { consoleCalls, cookieOf, sessionPath, setCookie } from './console-harness.js';
import { destination, expectBody, expectError, invalidKey, sharedProduct } from './harness.js';

// CONSOLE=0 is in settings.e2e.spec.ts.

describe('product: console', () => {
  const bench = sharedProduct();
  const { newVisitor, sendFromPage, signIn, session, operator, expectSignedOut } =
    consoleCalls(bench);
  /** What sessions of keys have beside the key. */
  let expectedOfKeys: {
    readonly upgradeUrl: string | null;
    readonly shortUrlHost: string;
    readonly person: null;
  };

  before(async () => {
    const { key } = await bench.key('PRO');
    const shortUrlHost = new URL((await bench.link(key)).shortUrl).origin;
    expectedOfKeys = { upgradeUrl: null, shortUrlHost, person: null };
  });

  describe('signing in with a key', () => {
    it('sets a cookie without the key, and returns the account', async () => {
      const { key, id, name, account } = await bench.key('HOBBY', { account: 'acme' });
      const response = await signIn({ key });
      const expected = {
        ...{ account, key: { id, name, plan: 'HOBBY', scopes: [...scopeNames] } },
        ...expectedOfKeys,
      };
      expectBody(response, 200, expected);
      expect(setCookie(response)).to.match(
        /^linklog_console=[\w-]{43}; Path=\/console; Max-Age=604800; HttpOnly; SameSite=Strict$/,
      );
      expect(response.text + setCookie(response)).not.to.include(key);
      const headers = { Cookie: cookieOf(response) };
      for (const api of bench.product.apis) {
        expectBody(await sendRequest(api + sessionPath, { headers }), 200, expected);
      }
    });

    it('gets 429 after ten wrong keys in a minute; the right key is always accepted', async () => {
      const from = newVisitor();
      const { key } = await bench.key('FREE');
      const wrong = [`ll_${'0'.repeat(38)}`, key.toUpperCase(), ''];
      const guesses = await concurrently(40, (guess) => signIn({ key: wrong[guess % 3] }, from));
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 30 });
      for (const guess of guesses) if (guess.status === 401) expectBody(guess, 401, invalidKey);
      const late = guesses.find(({ status }) => status === 429);
      expect(Number(late?.headers['retry-after'])).to.be.within(1, 60);
      expect((await signIn({ key }, from)).status).to.equal(200);
      expect((await signIn({ key: '' }, from)).status).to.equal(429);
      expect((await signIn({ key: '' }, newVisitor())).status).to.equal(401);
    });
  });

  describe('a session', () => {
    it('authenticates below /console/v2 only', async () => {
      const { key, ask, Cookie } = await session();
      const created = await ask('POST', '/console/v2/shorten', { url: destination });
      expect(created.status, created.text).to.equal(201);
      const { shortCode } = created.json() as { shortCode: string };
      expect((await bench.visit(shortCode)).status).to.equal(302);
      const tagged = { shortCodes: [shortCode, 'unknown'], change: { addTags: ['a'] } };
      expect((await ask('POST', '/console/v2/links/bulk', tagged)).status).to.equal(200);
      const usage = (await ask('GET', '/console/v2/usage')).json();
      expect(usage).to.deep.nested.include({ 'calls.used': 0, 'links.used': 1 });
      for (const api of bench.product.apis) {
        const stats = await ask('GET', `/console/v2/stats/${shortCode}`, undefined, api);
        expect(stats.json()).to.deep.include({ shortCode, url: destination });
      }
      for (const path of ['/v2/usage', `/v2/stats/${shortCode}`]) {
        const response = await sendRequest(bench.product.api + path, { headers: { Cookie } });
        expect(response.status, path).to.equal(401);
      }
      const headers = { Authorization: `Bearer ${key}` };
      await expectSignedOut(sendRequest(`${bench.product.api}/console/v2/usage`, { headers }));
    });

    it('gets the responses of /v2: limits and errors', async () => {
      const { ask, name } = await session('FREE');
      const path = '/console/v2/shorten';
      const method = 'POST';
      const bad = await ask(method, path, { url: 'x' });
      expectError(bad, { status: 400, message: 'Please provide a valid URL', path, method });
      expect(bad.headers).to.include({ 'x-ratelimit-limit': '60', 'x-api-key-name': name });
      const responses = await concurrently(60, () => ask('GET', '/console/v2/usage'));
      expect(statuses(responses)).to.deep.equal({ 200: 59, 429: 1 });
    });

    it('creates QR codes by POST only: no GET spends one', async () => {
      const { ask, key } = await session();
      const { shortCode } = await bench.link(key);
      const path = `/console/v2/qr/${shortCode}`;
      expect((await ask('GET', path)).headers.allow).to.equal('POST');
      const image = await ask('POST', `${path}?format=svg`);
      expect(image.headers['content-type']).to.equal('image/svg+xml');
      const usage = (await ask('GET', '/console/v2/usage')).json();
      expect(usage).to.have.nested.property('qrCodes.used', 1);
    });

    it('ends on every node when its key is revoked', async () => {
      const { id, ask } = await session();
      expect((await ask('GET', '/console/v2/usage')).status).to.equal(200);
      expect((await bench.admin('DELETE', `/admin/keys/${id}`)).status).to.equal(200);
      await eventuallyPasses(async () => {
        for (const api of bench.product.apis) {
          const ended = await ask('GET', sessionPath, undefined, api);
          expect(ended).to.include({ status: 204, text: '' });
          await expectSignedOut(ask('GET', '/console/v2/usage', undefined, api));
        }
      });
    });

    it('ends with the sign-out, which deletes the cookie', async () => {
      const { ask } = await session();
      const gone = await ask('DELETE', sessionPath);
      expect(gone).to.include({ status: 204, text: '' });
      expect(setCookie(gone)).to.match(/^linklog_console=; Path=\/console; Max-Age=0; HttpOnly/);
      for (const api of bench.product.apis) {
        await expectSignedOut(ask('GET', '/console/v2/usage', undefined, api));
      }
      expect((await ask('DELETE', sessionPath)).status).to.equal(204);
    });
  });

  describe('the list of sessions', () => {
    interface Listed {
      readonly id: string;
      readonly isCurrent: boolean;
    }
    const allPath = `${sessionPath}/all`;
    const listed = async (response: Promise<HttpResponse>): Promise<readonly Listed[]> =>
      ((await response).json() as { readonly sessions: readonly Listed[] }).sessions;

    it('has those of the key, which can be ended one by one or as a whole', async () => {
      const { key, ask } = await session();
      const stranger = await session();
      const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
      const Cookie = cookieOf(await signIn({ key }, { headers: { 'User-Agent': firefox } }));
      const sessions = await listed(ask('GET', allPath));
      expect(sessions.map(({ isCurrent }) => isCurrent)).to.have.members([true, false]);
      const other = sessions.find(({ isCurrent }) => !isCurrent);
      expect(other).to.include({ browser: 'Firefox', actor: null });
      const path = `${allPath}/${other?.id ?? ''}`;
      expect((await ask('DELETE', path)).status).to.equal(204);
      expect((await ask('DELETE', path)).status).to.equal(404);
      const ended = await sendRequest(bench.product.api + sessionPath, { headers: { Cookie } });
      expect(ended.status).to.equal(204);
      expect(await listed(ask('GET', allPath))).to.have.length(1);

      expect((await ask('DELETE', allPath)).status).to.equal(204);
      for (const api of bench.product.apis) {
        await expectSignedOut(ask('GET', allPath, undefined, api));
      }
      expect((await stranger.ask('GET', '/console/v2/usage')).status).to.equal(200);
    });
  });

  describe('the version of the data', () => {
    const path = `${sessionPath}/changes`;
    const changesIn = async (response: Promise<HttpResponse>) =>
      (await response).json() as { readonly version: number; readonly maintenance: unknown };

    it('increases with changes of the account, and of no other one', async () => {
      const { key, ask } = await session();
      const other = await bench.key('PRO', { account: 'another-account' });
      const version = async () => (await changesIn(ask('GET', path))).version;
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
      expect(await version()).to.equal(before);
      await bench.change(shortCode, key, { title: 'new' });
      await eventuallyPasses(async () => {
        expect(await version()).to.be.greaterThan(before);
      });
    });
  });

  describe('a one-time address', () => {
    const tokenIn = (url: string): string => {
      const [page, token = ''] = url.split('#t=');
      expect(bench.product.apis.map((api) => `${api}/console`)).to.include(page);
      return token;
    };
    const createToken = async (body: object = {}): Promise<string> => {
      const response = await bench.admin('POST', '/admin/console', body);
      expect(response.status, response.text).to.equal(201);
      return tokenIn((response.json() as { url: string }).url);
    };
    const expired = {
      statusCode: 401,
      message: 'This address was used, or is older than 10 minutes. Make another: linklog console',
      error: 'Unauthorized',
    };

    it('shows its account any number of times, and opens it once', async () => {
      const { id, name, account } = await bench.key('INDIE', { account: 'acme' });
      const token = await createToken({ key: id });
      const key = { id, name, plan: 'INDIE', scopes: [...scopeNames] };
      const whose = { account, key, ...expectedOfKeys };
      const { Cookie } = await session();
      const { apis, api } = bench.product;
      for (const at of apis) {
        const preview = await signIn({ token, accept: false }, { headers: { Cookie } }, at);
        expectBody(preview, 200, whose);
        expect(setCookie(preview)).to.equal('');
      }
      const opened = await concurrently(6, (index) =>
        signIn({ token, accept: true }, {}, apis[index % apis.length]),
      );
      expect(statuses(opened)).to.deep.equal({ 200: 1, 401: 5 });
      const headers = { Cookie: opened.map(cookieOf).join('') };
      expectBody(await sendRequest(api + sessionPath, { headers }), 200, whose);
      expectBody(await signIn({ token, accept: false }), 401, expired);
    });

    it('is created by the command line too', async () => {
      const { id, name } = await bench.key('FREE');
      const { dataDir } = bench.product;
      const output = await startLinklogCli(['console', '--key', id], { DATA_DIR: dataDir }).ended;
      expect(output).to.include({ exitCode: 0, stderr: '' });
      const token = tokenIn(output.stdout.split('\n')[0] ?? '');
      expect(output.stdout).to.include(name);
      expect((await signIn({ token, accept: true })).status).to.equal(200);
      const json = await startLinklogCli(['console', '--json'], { DATA_DIR: dataDir }).ended;
      expect(JSON.parse(json.stdout)).to.have.all.keys('url', 'account', 'key');
    });
  });

  describe('a session of an operator', () => {
    it('requires the admin token and a name, which becomes the actor', async () => {
      const { admin, admins, adminToken, apis } = bench.product;
      const response = await operator('maria', { headers: { 'X-Actor': 'other' } });
      const known = { actor: 'maria', shortUrlHost: expectedOfKeys.shortUrlHost, role: null };
      const { plans, ...session } = response.json() as { plans: object };
      expect([response.status, session]).to.deep.equal([200, known]);
      expect(plans).to.have.all.keys(...planNames);
      expect(setCookie(response)).to.match(
        /^linklog_operator=[\w-]{43}; Path=\/console; .*HttpOnly; SameSite=Strict$/,
      );
      expect(response.text + setCookie(response)).not.to.include(adminToken);
      const headers = { Cookie: cookieOf(response) };
      const { shortCode } = await bench.link((await bench.key('PRO')).key);
      const path = `/console/admin/links/${shortCode}`;
      const options = { headers, body: { reason: 'phishing' } };
      const blocked = await sendFromPage(admin, 'POST', `${path}/block`, options);
      expect(blocked.json()).to.deep.equal({ shortCode, blocked: true });
      const history = await sendRequest(`${admin}${path}/history`, { headers });
      const { events } = history.json() as { events: { actor: string }[] };
      expect(events.at(-1)?.actor).to.equal('maria');
      // The session is valid on each node that has an API.
      for (const other of admins.slice(0, apis.length)) {
        expectBody(await sendRequest(other + sessionPath, { headers }), 200, { ...known, plans });
      }
      expect((await sendRequest(`${admin}/admin/platform`, { headers })).status).to.equal(401);
      const left = await sendFromPage(admin, 'DELETE', sessionPath, { headers });
      expect(left.status).to.equal(204);
      await expectSignedOut(sendRequest(`${admin}/console/admin/platform`, { headers }));
    });

    it('counts guesses of the token together with those at /admin', async () => {
      const { headers } = newVisitor();
      const { admin } = bench.product;
      const guesses = await concurrently(20, (guess) =>
        guess % 2 === 0
          ? signIn({ token: 'x'.repeat(32), actor: 'maria' }, { headers }, admin)
          : sendRequest(`${admin}/admin/platform`, {
              headers: { ...headers, Authorization: 'Bearer wrong' },
            }),
      );
      expect(statuses(guesses)).to.deep.equal({ 401: 10, 429: 10 });
      expect((await operator('maria', { headers })).status).to.equal(200);
    });
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
