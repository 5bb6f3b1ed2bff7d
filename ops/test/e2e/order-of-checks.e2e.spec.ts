import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import {
  keyFixture,
  productFixture,
  destination,
  expectBody,
  expectError,
  expectRefused,
  lacking,
  missingKey,
  invalidKey,
  monthly,
  upgradeUrl,
} from './harness.js';
import { folderFixture } from '../support/fixtures.js';

/** Low limits: FREE reaches the minute's first, HOBBY the month's. */
const plans = {
  plans: {
    FREE: { requestsPerMinute: 3, monthlyCalls: 3, monthlyLinks: 1, monthlyQrCodes: 1 },
    HOBBY: { requestsPerMinute: 1_000, monthlyCalls: 3, monthlyLinks: 1, monthlyQrCodes: 1 },
    INDIE: { requestsPerMinute: 1_000, monthlyCalls: 1_000, monthlyLinks: 1, monthlyQrCodes: 1 },
    PRO: {
      requestsPerMinute: 1_000,
      monthlyCalls: null,
      monthlyLinks: null,
      monthlyQrCodes: null,
    },
  },
  gates: { customAlias: 'INDIE', passwordProtection: 'INDIE' },
};

const messages = {
  rateLimited: 'Rate limit exceeded. Try again in the next minute.',
  calls: 'Monthly API call limit reached.',
  links: 'Monthly link limit reached.',
  tooLarge: 'Request body is too large',
  contentType: 'Content-Type must be application/json',
  mismatch: 'Idempotency-Key was already used with another request body',
  url: 'Please provide a valid URL',
  passwordsOff: 'Password protection is currently disabled on this platform',
};

const post = (body: unknown, headers: Record<string, string> = {}): RequestOptions => ({
  method: 'POST',
  body,
  headers,
});
const large = 'x'.repeat(70_000);
const text = { 'Content-Type': 'text/plain' };

describe('command API: order of checks', () => {
  const folder = folderFixture();
  const bench = productFixture(async () => {
    const file = path.join(folder.path, 'plans.json');
    await writeFile(file, JSON.stringify(plans));

    return { PLANS_FILE: file };
  });
  let pro: IssuedKey;

  before(async () => {
    pro = await bench.key('PRO');
  });

  /** A new key whose limits are reached. */
  const createExhaustedKey = async (plan: 'FREE' | 'HOBBY'): Promise<string> => {
    const { key } = await bench.key(plan);
    for (let call = 1; call <= 3; call += 1) {
      expect((await bench.api('/v2/nothing', key)).status).to.equal(404);
    }
    return key;
  };

  /** Requests that later checks would reject. */
  const laterErrors: readonly [string, string, RequestOptions][] = [
    ['an unknown path', '/v2/nothing', {}],
    ['the prefix alone', '/v2', {}],
    ['a wrong method', '/v2/shorten', { method: 'PUT' }],
    ['a body too large', '/v2/shorten', post(large)],
    ['a wrong type', '/v2/shorten', post('{}', text)],
    ['a malformed body', '/v2/shorten', post('{', { 'Content-Type': 'application/json' })],
    ['an unknown code', '/v2/stats/nothing', {}],
    ['nothing else', '/v2/shorten', post({ url: destination })],
  ];

  it('401 comes before all that follows', async () => {
    for (const [, at, options] of laterErrors) {
      expectBody(await bench.api(at, null, options), 401, missingKey);
      expectBody(await bench.api(at, 'll_nonsense', options), 401, invalidKey);
    }
  });

  it('the per-minute limit comes before the monthly calls and all that follows', async () => {
    const key = await createExhaustedKey('FREE');
    for (const [what, at, options] of laterErrors) {
      const response = await bench.api(at, key, options);
      const { retryAfter } = response.json() as { retryAfter: number };
      const { rateLimited: message } = messages;
      const { method = 'GET' } = options;
      expect(response.status, what).to.equal(429);
      expectError(response, { status: 429, message, path: at, method, retryAfter });
    }
  });

  it('the monthly calls come before all that follows', async () => {
    const key = await createExhaustedKey('HOBBY');
    for (const [what, at, options] of laterErrors) {
      const response = await bench.api(at, key, options);
      expect(response.status, what).to.equal(429);
      expectBody(response, 429, monthly(messages.calls, 3));
    }
  });

  it('an unknown path and a wrong method come before size and type', async () => {
    const unknown = await bench.api('/v2/nothing', pro.key, post(large, text));
    expectError(unknown, {
      status: 404,
      message: 'Not Found',
      path: '/v2/nothing',
      method: 'POST',
    });
    const put = await bench.api('/v2/shorten', pro.key, { ...post(large, text), method: 'PUT' });
    expectError(put, {
      status: 405,
      message: 'Method Not Allowed',
      path: '/v2/shorten',
      method: 'PUT',
    });
    expect(put.headers.allow).to.equal('POST');
  });

  for (const [what, body, type = 'application/json'] of [
    ['too large', large],
    ['of a wrong type', '{}', 'text/plain'],
    ['malformed', '{'],
    ['disallowed', '{"__proto__":1}'],
    ['without a URL', '{}'],
    ['with a URL that the blocklist names', '{"url":"http://grabify.link/"}'],
    ['with an alias that is reserved', `{"url":"${destination}","alias":"admin"}`],
    ['with a password', `{"url":"${destination}","password":"long enough"}`],
    ['with nothing but a URL', `{"url":"${destination}"}`],
  ] as const) {
    it(`a body ${what} gets the same response to the first call of a key and to later calls`, async () => {
      const { key } = await bench.key('PRO');
      const responses: HttpResponse[] = [];
      for (let call = 1; call <= 2; call += 1) {
        responses.push(await bench.api('/v2/shorten', key, post(body, { 'Content-Type': type })));
      }
      const said = responses.map((response) => ({
        status: response.status,
        message: (response.json() as { message?: string }).message,
      }));
      expect(said[1]).to.deep.equal(said[0]);
      const links = said[0]?.status === 201 ? 2 : 0;
      expect(await bench.usage(key)).to.include({ calls: 2, links });
    });
  }

  it('size comes before type', async () => {
    const response = await bench.api('/v2/shorten', pro.key, post(large, text));
    expectRefused(response, 413, messages.tooLarge);
  });

  describe('the scope', () => {
    const none = keyFixture(bench, 'PRO', { scopes: [] });

    it('comes after path, method, size and type', async () => {
      expect((await bench.api('/v2/nothing', none.key)).status).to.equal(404);
      expect((await bench.api('/v2/shorten', none.key, { method: 'PUT' })).status).to.equal(405);
      expectRefused(await bench.api('/v2/shorten', none.key, post(large)), 413, messages.tooLarge);
      expectRefused(
        await bench.api('/v2/shorten', none.key, post('{}', text)),
        415,
        messages.contentType,
      );
    });

    it('comes before the body and all that follows', async () => {
      const malformed = post('{', { 'Content-Type': 'application/json' });
      for (const options of [malformed, post({ url: 'x' }), post({ url: destination })]) {
        for (const at of ['/v2/shorten', '/v2/shorten/batch']) {
          expectBody(await bench.api(at, none.key, options), 403, lacking('links:create'));
        }
      }
      expectBody(await bench.api('/v2/qr/nothing?size=1', none.key), 403, lacking('qr:read'));
      expectBody(await bench.api('/v2/stats/nothing', none.key), 403, lacking('stats:read'));
      expect((await bench.api('/v2/usage', none.key)).status).to.equal(200);
    });

    it('comes before the idempotent replay', async () => {
      const { id, key } = await bench.key('INDIE');
      const headers = { 'Idempotency-Key': 'before-the-scope' };
      const first = await bench.shorten(key, { url: destination }, headers);
      expect(first.status).to.equal(201);
      await bench.admin('PATCH', `/admin/keys/${id}`, { scopes: ['links:read'] });
      const again = await bench.shorten(key, { url: destination }, headers);
      expectBody(again, 403, lacking('links:create'));
      expect(again.headers['x-ratelimit-limit']).to.equal('1000');
    });
  });

  describe('the idempotent replay', () => {
    const replayed = async (key: string, again: RequestOptions): Promise<HttpResponse> => {
      const headers = { 'Idempotency-Key': 'the-same' };
      const first = await bench.shorten(key, { url: destination }, headers);
      expect(first.status).to.equal(201);
      return bench.api('/v2/shorten', key, { ...again, headers: { ...again.headers, ...headers } });
    };
    let key: string;

    beforeEach(async () => {
      ({ key } = await bench.key('INDIE'));
    });

    it('comes after the size', async () => {
      expectRefused(await replayed(key, post(large)), 413, messages.tooLarge);
    });

    it('comes after the type', async () => {
      const body = JSON.stringify({ url: destination });
      expectRefused(await replayed(key, post(body, text)), 415, messages.contentType);
    });

    for (const [what, body] of [
      ['malformed', '{'],
      ['disallowed', '{"__proto__":1}'],
      ['without a URL', '{}'],
      ['with an alias that is too short', '{"url":"https://example.com/","alias":"a"}'],
    ] as const) {
      it(`comes before a body ${what}`, async () => {
        const again = post(body, { 'Content-Type': 'application/json' });
        expectRefused(await replayed(key, again), 422, messages.mismatch);
      });
    }

    it('comes before the monthly links', async () => {
      const again = await replayed(key, post({ url: destination }));
      expect(again.status).to.equal(201);
      expect(again.headers['idempotency-replayed']).to.equal('true');
      expectBody(await bench.shorten(key, { url: destination }), 429, monthly(messages.links, 1));
    });

    it('comes before the plan’s features and the alias in use', async () => {
      const { id, key: downgraded } = await bench.key('INDIE');
      const headers = { 'Idempotency-Key': 'before-the-downgrade' };
      const body = { url: destination, alias: 'stored-response' };
      const first = await bench.shorten(downgraded, body, headers);
      expect(first.status).to.equal(201);
      expect((await bench.admin('PATCH', `/admin/keys/${id}`, { plan: 'FREE' })).status).to.equal(
        200,
      );
      const again = await bench.shorten(downgraded, body, headers);
      expect(again.status).to.equal(201);
      expect(again.text).to.equal(first.text);
    });
  });

  it('the body comes before the platform’s switches', async () => {
    const response = await bench.shorten(pro.key, {
      url: destination,
      password: 'long enough',
      maxClicks: 0,
    });
    expectRefused(response, 400, 'maxClicks must be at least 1');
  });

  /** Writes the state that an operator's switch leaves. */
  const switchPasswords = (on: boolean): Promise<unknown> =>
    withLedger(bench.product, (client) =>
      client.query('UPDATE ledger.platform SET passwords = $1', [on]),
    );

  it('the platform’s switches come before the plan’s features', async () => {
    const { key } = await bench.key('HOBBY');
    const body = { url: destination, alias: 'not-on-this-plan', password: 'long enough' };
    await switchPasswords(false);
    try {
      expectRefused(await bench.shorten(key, body), 400, messages.passwordsOff);
    } finally {
      await switchPasswords(true);
    }
  });

  it('the plan’s features come before the monthly links', async () => {
    const { key } = await bench.key('HOBBY');
    await bench.link(key);
    expectBody(await bench.shorten(key, { url: destination, alias: 'any-alias' }), 403, {
      statusCode: 403,
      message: 'Custom aliases require the INDIE plan or higher.',
      error: 'Forbidden',
      feature: 'customAlias',
      currentPlan: 'HOBBY',
      upgradeUrl,
    });
    expectBody(await bench.shorten(key, { url: destination }), 429, monthly(messages.links, 1));
  });

  it('the monthly links come before the alias: reserved, or in use', async () => {
    const { key } = await bench.key('INDIE');
    await bench.link(key, { alias: 'the-only-one' });
    for (const alias of ['admin', 'the-only-one']) {
      expectBody(
        await bench.shorten(key, { url: destination, alias }),
        429,
        monthly(messages.links, 1),
      );
    }
  });

  it('a plan with null limits has no monthly limit', async () => {
    const { key } = await bench.key('PRO');
    for (let link = 0; link < 5; link += 1) await bench.link(key);
    const usage = (await bench.api('/v2/usage', key)).json();
    expect(usage).to.deep.include({ calls: { used: 5, limit: null } });
    expect(usage).to.deep.include({ links: { used: 5, limit: null } });
  });

  describe('cost of a request', () => {
    /** Usage of a key in the operators' API, which costs no call. */
    const spent = async (id: string): Promise<{ minute: number; calls: number; links: number }> => {
      const response = await bench.admin('GET', `/admin/keys/${id}`);
      const { usage } = response.json() as {
        usage: { minute: { used: number }; month: { calls: number; links: number } };
      };
      const { calls, links } = usage.month;
      return { minute: usage.minute.used, calls, links };
    };

    const alias = 'is-spent-once';
    const idempotent = { 'Idempotency-Key': 'is-spent' };
    const calls: readonly [string, number, string, RequestOptions, number][] = [
      ['a link', 201, '/v2/shorten', post({ url: destination, alias }), 1],
      ['an alias in use', 400, '/v2/shorten', post({ url: destination, alias }), 0],
      ['a reserved alias', 400, '/v2/shorten', post({ url: destination, alias: 'Admin' }), 0],
      ['a wrong body', 400, '/v2/shorten', post({}), 0],
      ['an unknown path', 404, '/v2/nothing', {}, 0],
      ['an unknown code', 404, '/v2/stats/nothing', {}, 0],
      ['statistics', 200, `/v2/stats/${alias}`, {}, 0],
      ['a HEAD', 200, `/v2/stats/${alias}`, { method: 'HEAD' }, 0],
      ['a wrong method', 405, '/v2/usage', { method: 'DELETE' }, 0],
      ['a body too large', 413, '/v2/shorten', post(large), 0],
      ['a wrong type', 415, '/v2/shorten', post('{}', text), 0],
      ['a stored response', 201, '/v2/shorten', post({ url: destination }, idempotent), 1],
      ['a replay', 201, '/v2/shorten', post({ url: destination }, idempotent), 0],
      ['a mismatch', 422, '/v2/shorten', post({}, idempotent), 0],
    ];
    for (const [what, status, at, options, links] of calls) {
      it(`one call by ${what}${links === 1 ? ', and one link' : ''}`, async () => {
        const { id, key } = pro;
        const before = await spent(id);
        const response = await bench.api(at, key, options);
        expect(response.status, response.text).to.equal(status);
        const after = await spent(id);
        expect(after.calls - before.calls, 'calls').to.equal(at === '/v2/usage' ? 0 : 1);
        expect(after.links - before.links, 'links').to.equal(links);
        expect(after.minute - before.minute, 'of the minute').to.equal(1);
      });
    }

    it('a 403 costs a call and no link', async () => {
      const { id, key } = await bench.key('HOBBY');
      const response = await bench.shorten(key, { url: destination, alias: 'any-alias' });
      expect(response.status).to.equal(403);
      expect(await spent(id)).to.deep.equal({ minute: 1, calls: 1, links: 0 });
    });

    it('the monthly links’ 429 costs a call and no link', async () => {
      const { id, key } = await bench.key('INDIE');
      await bench.link(key);
      expect((await bench.shorten(key, { url: destination })).status).to.equal(429);
      expect(await spent(id)).to.deep.equal({ minute: 2, calls: 2, links: 1 });
    });

    it('both limits’ 429 costs nothing', async () => {
      for (const plan of ['FREE', 'HOBBY'] as const) {
        const { id, key } = await bench.key(plan);
        for (let call = 1; call <= 8; call += 1) {
          expect((await bench.api('/v2/nothing', key)).status).to.equal(call <= 3 ? 404 : 429);
        }
        expect(await spent(id), plan).to.deep.equal({ minute: 3, calls: 3, links: 0 });
      }
    });

    it('usage costs a call of the minute and none of the month', async () => {
      const { id, key } = await bench.key('HOBBY');
      for (let call = 0; call < 5; call += 1) {
        expect((await bench.api('/v2/usage', key)).status).to.equal(200);
      }
      expect(await spent(id)).to.deep.equal({ minute: 5, calls: 0, links: 0 });
    });

    it('usage is available when the monthly calls are spent', async () => {
      const key = await createExhaustedKey('HOBBY');
      const usage = await bench.api('/v2/usage', key);
      expect(usage.status).to.equal(200);
      expect(usage.json()).to.deep.include({ calls: { used: 3, limit: 3 } });
    });

    it('usage gets 429 at the per-minute limit', async () => {
      const key = await createExhaustedKey('FREE');
      expect((await bench.api('/v2/usage', key)).status).to.equal(429);
    });
  });
});
