import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import type { ConsoleSession } from '../../../schemas/http/console.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture } from '../support/fixtures.js';
import { startHostileProvider } from '../support/hostile-provider.js';
import { Browser, clientId, startIdentityProvider } from '../support/identity-provider.js';
import { sendRequest } from '../support/http.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { consoleCalls } from './console-harness.js';
import { productFixture } from './harness.js';
import { newPerson, peopleAt } from './people-harness.js';

describe('a sign-in at a hostile provider', () => {
  const provider = fixture(startHostileProvider, (started) => started.stop());
  const bench = productFixture(() => ({
    ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: 'owners=acme:owner' },
  }));
  afterEach(() => {
    provider.forge();
  });

  const start = async (browser: Browser): Promise<string> => {
    const response = await browser.get(`${bench.product.api}/console/oidc/start`);
    expect(response.status, response.text).to.equal(303);
    return response.headers.location ?? '';
  };

  const finish = async (callback: string, browser: Browser) => {
    const response = await browser.get(callback);
    const session = await browser.get(`${bench.product.api}/console/session`);
    const { account } = (session.status === 200 ? session.json() : {}) as Partial<ConsoleSession>;
    return { status: response.status, text: response.text, account };
  };

  const attempt = async (more: Readonly<Record<string, string>> = {}) => {
    const browser = new Browser();
    return finish(provider.callbackOf(await start(browser), more), browser);
  };

  it('succeeds if everything is right', async () => {
    expect(await attempt()).to.deep.equal({ status: 303, text: '', account: 'acme' });
  });

  const without = (name: string) => (claims: object) =>
    Object.fromEntries(Object.entries(claims).filter(([other]) => other !== name));
  const hour = 3_600;
  const forgeries = {
    'the issuer of another provider': {
      claims: (claims) => ({ ...claims, iss: 'https://other.example' }),
    },
    'the audience of another client': { claims: (claims) => ({ ...claims, aud: 'another' }) },
    'another nonce': { claims: (claims) => ({ ...claims, nonce: 'another' }) },
    'no nonce': { claims: without('nonce') },
    'no subject': { claims: without('sub') },
    'an expired token': {
      claims: (claims) => ({
        ...claims,
        exp: Number(claims.iat) - hour,
        iat: Number(claims.iat) - 2 * hour,
      }),
    },
    'a clock that is 5 minutes slow': {
      claims: (claims) => ({
        ...claims,
        iat: Number(claims.iat) - 600,
        exp: Number(claims.iat) - 300,
      }),
    },
    'an unsigned token': { algorithm: 'none' },
    'the signature of another key': { algorithm: 'another key' },
  } satisfies Readonly<Record<string, Parameters<typeof provider.forge>[0]>>;
  for (const [what, forgery] of Object.entries(forgeries)) {
    it(`fails with ${what}`, async () => {
      provider.forge(forgery);
      const { status, text, account } = await attempt();
      expect([status, account], text).to.deep.equal([400, undefined]);
      expect(text).to.match(/^The sign-in failed: .+\n$/);
    });
  }

  it('fails in another browser, with another state, and a second time', async () => {
    const browser = new Browser();
    const other = provider.callbackOf(await start(new Browser()));
    const callback = provider.callbackOf(await start(browser));
    expect((await finish(callback, new Browser())).status).to.equal(400);
    expect((await finish(other, browser)).status).to.equal(400);
    expect((await finish(callback, browser)).account).to.equal('acme');
    expect((await finish(callback, browser)).status).to.equal(400);
  });

  it('of two tabs succeeds in both', async () => {
    const browser = new Browser();
    for (const tab of [await start(browser), await start(browser)].reverse()) {
      expect((await finish(provider.callbackOf(tab), browser)).status).to.equal(303);
    }
  });

  it('succeeds after the provider has replaced its key', async () => {
    await provider.rotate();
    // A failed sign-in makes the next one read the keys again.
    expect([(await attempt()).status, (await attempt()).status]).to.deep.equal([400, 303]);
  });

  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    'responds with an error': (response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'),
    'closes the connection': (response) => response.destroy(),
    'is silent': () => undefined,
  };
  for (const [what, answer] of Object.entries(answers)) {
    it(`is unavailable while the provider ${what}, for at most 6 s`, async () => {
      for (const path of ['/token', '/me']) {
        const browser = new Browser();
        const callback = provider.callbackOf(await start(browser));
        provider.forge({ answers: { [path]: answer } });
        const startedAt = performance.now();
        const { status, text, account } = await finish(callback, browser);
        provider.forge();
        expect([status, text, account]).to.deep.equal([
          ...[503, 'The identity provider is unavailable\n', undefined],
        ]);
        expect(performance.now() - startedAt).to.be.below(6_000);
      }
    });
  }

  it('fails with a token response of 1 MiB, and with HTML', async () => {
    const big = 'x'.repeat(1_048_576);
    for (const body of [
      JSON.stringify({ access_token: big, token_type: 'Bearer', id_token: big }),
      '<h1>no</h1>',
    ]) {
      const browser = new Browser();
      const callback = provider.callbackOf(await start(browser));
      provider.forge({
        answers: {
          '/token': (response) =>
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(body),
        },
      });
      const { status, text, account } = await finish(callback, browser);
      provider.forge();
      expect([status, account]).to.be.deep.oneOf([
        [400, undefined],
        [503, undefined],
      ]);
      expect(text).to.not.contain('<');
    }
  });

  it('redirects only to the console', async () => {
    const browser = new Browser();
    const query = '?return=https://evil.example&account=https://evil.example';
    const response = await browser.get(`${bench.product.api}/console/oidc/start${query}`);
    const callback = provider.callbackOf(response.headers.location ?? '', {
      return: 'https://evil.example',
    });
    const { headers } = await browser.get(callback);
    expect(headers.location).to.equal('/console');
  });
});

describe('a sign-in while PostgreSQL is silent', () => {
  const provider = fixture(startHostileProvider, (started) => started.stop());
  const database = databaseFixture('sign_in');
  const proxy = fixture(
    () => startTcpProxy(database.url),
    (started) => started.close(),
  );
  const bench = productFixture(() => ({
    ...{ OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLES: 'owners=acme:owner' },
    DATABASE_URL: proxy.url,
  }));

  it('is refused within 6 s, as are calls of sessions, which continue afterwards', async () => {
    const start = async (browser: Browser): Promise<string> => {
      const { headers } = await browser.get(`${bench.product.api}/console/oidc/start`);
      return provider.callbackOf(headers.location ?? '');
    };
    const signedIn = new Browser();
    expect((await signedIn.get(await start(signedIn))).status).to.equal(303);
    const waiting = new Browser();
    const callback = await start(waiting);
    proxy.mute();
    const requests = [
      { browser: waiting, url: callback },
      { browser: signedIn, url: `${bench.product.api}/console/session` },
      { browser: signedIn, url: `${bench.product.api}/console/v2/me` },
    ];
    const outcomes = requests.map(async ({ browser, url }) => {
      const startedAt = performance.now();
      const { status, headers } = await browser.get(url);
      expect(performance.now() - startedAt, url).to.be.below(6_000);
      return [status, headers['retry-after']];
    });
    expect(await Promise.all(outcomes)).to.deep.equal(requests.map(() => [503, '1']));
    proxy.cut();
    await eventually('the session continues', async () => {
      const { status } = await signedIn.get(`${bench.product.api}/console/session`);
      return status === 200;
    });
    expect((await waiting.get(await start(waiting))).status).to.equal(303);
  });
});

describe('sign-in with the identity provider alone', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => ({
    ...{ ...provider.env, CONSOLE_SIGN_IN: 'oidc', OIDC_SIGN_UP: 'personal' },
  }));
  let at: ReturnType<typeof peopleAt>;
  before(() => {
    provider.register(bench.product);
    at = peopleAt(bench, provider);
  });

  it('accepts no keys and no admin token at the consoles, but in all calls', async () => {
    const { signIn, operator } = consoleCalls(bench);
    const { key } = await bench.key('PRO');
    expect((await signIn({ key })).status).to.equal(403);
    expect((await operator('maria')).status).to.equal(403);
    expect((await bench.api('/v2/links', key)).status).to.equal(200);
    expect((await bench.admin('GET', '/admin/keys')).status).to.equal(200);
    const ways = await sendRequest(`${bench.product.api}/console/session/ways`);
    expect(ways.json()).to.deep.equal({ keys: false, oidc: 'Acme' });
  });

  it('opens an account of its own for a person without one, once', async () => {
    const claims = newPerson();
    const { me } = await at.signIn(claims);
    const first = await me();
    expect(first).to.deep.include({ role: 'owner' });
    expect(first.account).to.match(/^personal-[0-9a-z]{12}$/);
    expect((await (await at.signIn(claims)).me()).account).to.equal(first.account);
    expect((await at.refused(newPerson(), {}, bench.product.admin)).slice(0, 2)).to.deep.equal([
      ...[403, 'You have no access to this installation'],
    ]);
  });

  it('keeps the root key of an account after its first person was removed with its keys', async () => {
    const first = await at.signIn(newPerson());
    const { account } = await first.me();
    const invited = await first.ask('POST', '/console/v2/people/invitations', { role: 'owner' });
    const { url } = invited.json() as { url: string };
    const browser = new Browser();
    const start = await at.begin(browser, url.split('#i=')[1] ?? '');
    const second = await at.signIn(newPerson(), { browser, start });
    const path = `/console/v2/people/${await first.idOf()}?revokeKeys=1`;
    const removed = await second.ask('DELETE', path);
    expect(removed.json()).to.deep.equal({ keys: [] });
    expect(await second.me()).to.deep.include({ account });
  });
});
