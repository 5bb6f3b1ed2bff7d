import { expect } from 'chai';
import fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { rejection } from '../../../test/support/waiting.js';
import {
  baseUrl,
  cutStreamOf,
  immediately,
  scripted,
  scriptedClient,
  silent,
  testKey,
} from '../testing/scripted-fetch.js';
import {
  AbortError,
  ConflictError,
  ConnectionError,
  IdempotencyMismatchError,
  Linklog,
  LinklogError,
  RateLimitError,
  ServiceUnavailableError,
  TimeoutError,
} from './index.js';
import { retryDelayMs } from './retry.js';

const url = 'https://example.com/';
const refused = Object.assign(new TypeError('fetch failed'), {
  cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
});

/** A status with an immediate retry. */
const status = (code: number) => ({
  status: code,
  headers: immediately,
  body: { statusCode: code, message: `message of ${code}` },
});

type Call = (client: Linklog) => Promise<unknown>;

/** Calls that the client may repeat. */
const repeatable: Readonly<Record<string, Call>> = {
  'links.create': ({ links }) => links.create({ url }),
  'links.createBatch': ({ links }) => links.createBatch({ urls: [{ url }] }),
  'links.get': ({ links }) => links.get('a'),
  'links.delete': ({ links }) => links.delete('a'),
  'links.change with ifMatch': ({ links }) => links.change('a', { title: 'b' }, { ifMatch: 3 }),
  'qr.get': ({ qr }) => qr.get('a'),
};

/** Calls that could take effect twice. */
const unrepeatable: Readonly<Record<string, Call>> = {
  'links.change': ({ links }) => links.change('a', { title: 'b' }),
  'links.bulk': ({ links }) => links.bulk({ shortCodes: ['a'], change: { delete: true } }),
  'keys.create': ({ keys }) => keys.create({ name: 'a' }),
  'keys.rotate': ({ keys }) => keys.rotate('id'),
  'imports.start': ({ imports }) => imports.start('url\nhttps://example.com/'),
};

describe('client: retries', () => {
  for (const [name, call] of Object.entries(repeatable)) {
    it(`repeat ${name} after 503 and 429, and return its response`, async () => {
      const { client, requests } = scriptedClient([status(503), status(429), { body: '{}' }]);
      await call(client);
      expect(requests).to.have.length(3);
      expect(new Set(requests.map((request) => JSON.stringify(request)))).to.have.property(
        'size',
        1,
      );
    });
  }

  for (const [name, call] of Object.entries(unrepeatable)) {
    it(`do not repeat ${name}`, async () => {
      for (const step of [status(503), status(429), refused]) {
        const { client, requests } = scriptedClient([step]);
        await rejection(call(client));
        expect(requests).to.have.length(1);
      }
    });
  }

  it('end after maxRetries, with the error of the last attempt', async () => {
    for (const maxRetries of [0, 1, 4]) {
      const { client, requests } = scriptedClient([status(503)], { maxRetries });
      const error = await rejection(client.links.create({ url }));
      expect(error).to.be.instanceOf(ServiceUnavailableError);
      expect(requests).to.have.length(maxRetries + 1);
    }
  });

  it('do not follow other statuses', async () => {
    for (const code of [400, 401, 403, 404, 405, 410, 412, 413, 415, 422, 500, 502]) {
      const { client, requests } = scriptedClient([status(code)]);
      const error = await rejection(client.links.create({ url }));
      expect(error).to.include({ status: code, message: `message of ${code}` });
      expect(requests).to.have.length(1);
    }
  });

  it('follow 409 only with an Idempotency-Key', async () => {
    const created = scriptedClient([status(409), { body: { shortCode: 'a' } }]);
    expect(await created.client.links.create({ url })).to.deep.equal({ shortCode: 'a' });
    const verified = scriptedClient([status(409), {}]);
    const error = await rejection(verified.client.domains.release('go.example.com'));
    expect(error).to.be.instanceOf(ConflictError);
  });

  it('keep an Idempotency-Key for all attempts of a call, and make another one for each call', async () => {
    const { client, requests } = scriptedClient([status(503), {}, status(503), {}]);
    await client.links.create({ url });
    await client.links.create({ url }, { idempotencyKey: '' });
    const keys = requests.map(({ headers }) => headers['Idempotency-Key'] ?? '');
    expect(keys[0])
      .to.equal(keys[1])
      .and.to.match(/^\w{16,}$/);
    expect(keys[2]).to.equal(keys[3]).and.not.to.equal(keys[0]);
    await client.links.create({ url }, { idempotencyKey: 'order-1' });
    expect(requests.at(-1)?.headers).to.include({ 'Idempotency-Key': 'order-1' });
  });

  it('follow errors of the connection, also in the middle of a body', async () => {
    const { client } = scriptedClient([
      () => cutStreamOf('{"shortCode":'),
      { body: '<html>', headers: immediately },
      { body: { shortCode: 'a' } },
    ]);
    expect(await client.links.get('a')).to.deep.equal({ shortCode: 'a' });
  }).timeout(10_000);

  it('do not wait for the next month, or for longer than two minutes', async () => {
    const body = {
      statusCode: 429,
      message: 'Monthly link limit reached.',
      resetDate: '2027-01-01',
    };
    for (const step of [
      { status: 429, body },
      { ...status(429), headers: { 'Retry-After': '121' } },
    ]) {
      const { client, requests } = scriptedClient([step]);
      const error = await rejection(client.links.create({ url }));
      expect(error).to.be.instanceOf(RateLimitError);
      expect(requests).to.have.length(1);
    }
  });

  it('wait as long as Retry-After says, otherwise 0.5 to 5 s', () => {
    const limited = new LinklogError(429, '', null, 7);
    expect(retryDelayMs(limited, 3)).to.equal(7_000);
    fc.assert(
      fc.property(fc.nat({ max: 2_000 }), (failures) => {
        expect(retryDelayMs(new ConnectionError('cut'), failures)).to.be.within(500, 5_000);
      }),
    );
    expect(retryDelayMs(new ConnectionError('cut'), 0)).to.be.at.most(1_000);
  });
});

describe('client: timeouts and signals', () => {
  it('end an attempt after timeoutMs, also if fetch ignores its signal', async () => {
    for (const call of [
      (client: Linklog) => client.links.get('a'),
      (client: Linklog) => client.links.get('a', { timeoutMs: 5 }),
    ]) {
      const { client } = scriptedClient([silent], { timeoutMs: 20, maxRetries: 0 });
      expect(await rejection(call(client))).to.be.instanceOf(TimeoutError);
    }
  });

  it('end a body that stops', async () => {
    const body = new ReadableStream({ pull: () => silent().then(() => undefined) });
    const { client } = scriptedClient([() => new Response(body)], { timeoutMs: 20, maxRetries: 0 });
    expect(await rejection(client.links.get('a'))).to.be.instanceOf(TimeoutError);
  });

  it('retry after a timeout', async () => {
    const { client, requests } = scriptedClient([silent, {}], { timeoutMs: 20 });
    await client.links.create({ url });
    expect(requests).to.have.length(2);
  });

  it('end a call with an AbortError: before, during, and between attempts', async () => {
    const reason = new Error('the user left');
    const aborted = AbortSignal.abort(reason);
    const before = scriptedClient([{}]);
    const error = await rejection(before.client.links.get('a', { signal: aborted }));
    expect(error).to.be.instanceOf(AbortError).and.to.have.property('cause', reason);
    expect(before.requests).to.have.length(0);

    for (const step of [silent, { ...status(503), headers: { 'Retry-After': '60' } }]) {
      const controller = new AbortController();
      const { client } = scriptedClient([step]);
      const call = client.links.get('a', { signal: controller.signal });
      setTimeout(() => {
        controller.abort(reason);
      }, 10);
      expect(await rejection(call)).to.be.instanceOf(AbortError);
    }
  });

  it('leave no listener at a signal that is reused', async () => {
    const { signal } = new AbortController();
    const { client } = scriptedClient([
      ...[status(503), {}, status(404), refused, { body: '{"code":"a"}\n{"code":"b"}\n' }, {}],
    ]);
    await client.links.get('a', { signal });
    await rejection(client.links.get('a', { signal }));
    await rejection(client.links.change('a', {}, { signal }));
    for await (const link of client.links.export({}, { signal })) {
      expect(link.code).to.equal('a');
      break;
    }
    await client.qr.get('a', {}, { signal });
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });
});

describe('client: errors', () => {
  it('have status, message, errorType, requestId, retryAfter and body', async () => {
    const body = { statusCode: 410, message: 'This link has expired', errorType: 'EXPIRED' };
    const headers = { 'X-Request-Id': 'r-1', 'Retry-After': '3' };
    const { client } = scriptedClient([{ status: 410, body, headers }]);
    const error = await rejection(client.qr.get('a'));
    expect(error)
      .to.be.instanceOf(LinklogError)
      .and.to.deep.include({
        ...{ name: 'GoneError', status: 410, message: body.message, errorType: 'EXPIRED' },
        ...{ requestId: 'r-1', retryAfter: 3, body },
      });
  });

  it('tolerate bodies that are not of the API', async () => {
    for (const body of ['<html>', '', '[]', 'null', '{"message":7}']) {
      const { client } = scriptedClient([{ status: 422, body }]);
      const error = await rejection(client.links.create({ url }));
      expect(error, body)
        .to.be.instanceOf(IdempotencyMismatchError)
        .and.to.include({ status: 422 });
      expect((error as Error).message, body).to.be.a('string');
    }
  });

  it('of the connection name the causes and the code', async () => {
    const { client } = scriptedClient([refused], { maxRetries: 0 });
    const error = await rejection(client.links.get('a'));
    expect(error)
      .to.be.instanceOf(ConnectionError)
      .and.to.include({
        ...{ message: 'fetch failed: connect ECONNREFUSED', code: 'ECONNREFUSED' },
      });
    expect(error).not.to.be.instanceOf(LinklogError);
  });

  it('never contain the key', async () => {
    const circular = new Error(`Bearer ${testKey}`);
    circular.cause = circular;
    const echo = {
      statusCode: 400,
      message: testKey,
      nested: [{ Authorization: `Bearer ${testKey}` }],
    };
    const headers = { 'X-Request-Id': testKey };
    for (const step of [
      circular,
      { status: 400, body: echo, headers },
      { status: 502, body: `<pre>${testKey}</pre>` },
      { status: 200, body: `<pre>${testKey}</pre>` },
    ]) {
      const { client } = scriptedClient([step], { maxRetries: 0 });
      const error = await rejection(client.links.get('a'));
      const text = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
      expect(text).not.to.include(testKey);
    }
    const create = () => new Linklog({ key: `${testKey}\n`, baseUrl });
    expect(create).to.throw(TypeError, /^key must consist of visible ASCII characters$/);
    expect(inspect(new Linklog({ key: testKey, baseUrl }), { depth: 10 })).not.to.include(testKey);
  });
});

describe('client: options', () => {
  it('are checked', () => {
    for (const [options, message] of [
      [{ baseUrl: 'api.test' }, 'Invalid URL'],
      [{ baseUrl: 'ftp://api.test' }, 'baseUrl must be an http(s) URL'],
      [{ baseUrl: 'http://api.test/?a' }, 'baseUrl must be an http(s) URL'],
      [{ baseUrl: 'http://user@api.test' }, 'baseUrl must be an http(s) URL'],
      [{ key: '' }, 'key must'],
      [{ maxRetries: -1 }, 'maxRetries must'],
    ] as const) {
      expect(() => new Linklog({ key: testKey, baseUrl, ...options })).to.throw(TypeError, message);
    }
  });

  it('have a base URL with a path, and with a slash at its end', async () => {
    const { fetch, requests } = scripted({});
    const client = new Linklog({ key: testKey, baseUrl: 'https://example.com/links/', fetch });
    await client.usage.get();
    expect(requests[0]?.url).to.equal('https://example.com/links/v2/usage');
  });

  it('reject timeouts that timers do not support', async () => {
    for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
      const { client } = scriptedClient([{}], { timeoutMs });
      expect(await rejection(client.usage.get())).to.be.instanceOf(TypeError);
    }
  });
});
