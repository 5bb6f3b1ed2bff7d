import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectError,
  expectRefused,
  keyFixture,
  passwordForm,
  sharedProduct,
  type Link,
} from './harness.js';

/** The shortest `expiresIn`, and the length of a rate-limit window. */
const minuteMs = 60_000;

describe('a minute later, the product', () => {
  const bench = sharedProduct();
  const account = 'a-minute-later';
  const pro = keyFixture(bench, 'PRO', { account });
  const free = keyFixture(bench, 'FREE', { account });
  let attacked: Link;
  let guarded: string;
  let links: { cached: Link; uncached: Link; limited: Link };
  let reset: number;
  /** Clients that send one byte per second, so that an idle timeout does not fire. */
  const slow: { kind: 'headers' | 'body'; connection: RawConnection; drip: NodeJS.Timeout }[] = [];
  let idle: RawConnection;

  const enter = (password: string): Promise<HttpResponse> =>
    bench.visit(guarded, passwordForm(password));

  const openConnections = async (): Promise<void> => {
    const { api, edge, admin, adminToken } = bench.product;
    idle = await connectTo(edge);
    const post = (path: string, token: string): string =>
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n';
    const headers = 'GET /health HTTP/1.1\r\nX-Slow: ';
    for (const [kind, origin, head] of [
      ...[api, edge, admin].map((origin) => ['headers', origin, headers] as const),
      ['body', api, post('/v2/shorten', pro.key)],
      ['body', admin, post('/admin/keys', adminToken)],
    ] as const) {
      const connection = await connectTo(origin);
      connection.socket.write(head);
      const drip = setInterval(() => connection.socket.write('x'), 1_000);
      slow.push({ kind, connection, drip });
    }
  };

  after('close the connections', () => {
    bench.safeBrowsing.listed.delete('attacked.example');
    idle.socket.destroy();
    for (const { connection, drip } of slow) {
      clearInterval(drip);
      connection.socket.destroy();
    }
  });

  before('wait a minute', async function () {
    this.timeout(90_000);
    await openConnections();
    guarded = (await bench.link(pro.key, { password: 'secret' })).shortCode;
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await enter('wrong')).status).to.equal(401);
    }
    const refused = await enter('secret');
    expect([refused.status, refused.headers['retry-after']]).to.deep.equal([429, '30']);
    const first = await bench.api('/v2/usage', free.key);
    const windowMs = performance.now();
    reset = Number(first.headers['x-ratelimit-reset']);
    const responses = await concurrently(80, () => bench.api('/v2/usage', free.key));
    expect(statuses(responses)).to.deep.equal({ 200: 59, 429: 21 });
    links = {
      cached: await bench.link(pro.key, { alias: 'minute-cached', expiresIn: 60 }),
      uncached: await bench.link(pro.key, { expiresIn: 60 }),
      limited: await bench.link(pro.key, { expiresIn: 60, maxClicks: 5 }),
    };
    attacked = await bench.link(pro.key, { url: 'https://attacked.example/' });
    bench.safeBrowsing.listed.add('attacked.example');
    await bench.visit(links.cached.shortCode);
    await bench.visit(links.limited.shortCode);
    await sleep(minuteMs - 3_000 - (performance.now() - windowMs));
    // Just before the window ends and the links expire.
    expect((await bench.api('/v2/usage', free.key)).status).to.equal(429);
    expect((await bench.visit(links.cached.shortCode)).status).to.equal(302);
    await sleep(Date.parse(links.limited.expiresAt ?? '') - Date.now() + 20);
  });

  it('accepts the right password after five wrong ones', async () => {
    expect((await enter('secret')).status).to.equal(303);
  });

  it('has expired cached and uncached links to the millisecond', async () => {
    for (const { shortCode } of Object.values(links)) {
      for (const options of [{}, { headers: { 'User-Agent': 'Googlebot/2.1' } }]) {
        expectError(await bench.visit(shortCode, options), {
          ...{ status: 410, message: 'This link has expired', errorType: 'EXPIRED' },
          path: `/${shortCode}`,
        });
      }
    }
    const { shortCode: alias, createdAt, expiresAt } = links.cached;
    const stats = await bench.stats(alias, pro.key);
    const { lastAccessed } = stats;
    expect(stats).to.deep.equal({
      ...{ shortCode: alias, url: destination, clickCount: 2, createdAt, lastAccessed, expiresAt },
      maxClicks: null,
    });
    expect(Date.parse(lastAccessed ?? '')).to.be.below(Date.parse(expiresAt ?? ''));
    expect((await bench.stats(links.uncached.shortCode, pro.key)).clickCount).to.equal(0);
    expect((await bench.stats(links.limited.shortCode, pro.key)).clickCount).to.equal(1);
    const again = await bench.shorten(pro.key, { url: destination, alias });
    expectRefused(again, 400, 'Alias is already taken');
  });

  it('starts a new rate-limit window after 60 s', async () => {
    await sleep(Math.max(0, reset * 1_000 - Date.now()));
    const from = Math.floor(Date.now() / 1_000);
    const responses = await concurrently(80, () => bench.api('/v2/usage', free.key));
    expect(statuses(responses)).to.deep.equal({ 200: 60, 429: 20 });
    const [next, ...others] = new Set(responses.map(({ headers }) => headers['x-ratelimit-reset']));
    expect(others).to.deep.equal([]);
    expect(Number(next)).to.be.within(from + 59, Math.ceil(Date.now() / 1_000) + 61);
  });

  it('has disconnected slow clients: after 10 s for the headers, 30 s for the request', async () => {
    for (const { kind, connection } of slow) {
      const ms = await connection.closed(0);
      const limit = kind === 'headers' ? 10_000 : 30_000;
      // Checked every 5 s.
      expect(ms, kind).to.be.within(limit - 500, limit + 7_000);
      expect(connection.received(), kind).to.match(/^HTTP\/1\.1 408 /);
    }
    expect(await idle.closed(0)).to.be.within(9_500, 17_000);
    expect(idle.received()).to.equal('');
  });

  it('blocks a link that Safe Browsing lists after its creation, with the actor web-safety', async () => {
    await eventuallyPasses(async () => {
      expectError(await bench.visit(attacked.shortCode), {
        ...{ status: 410, message: 'This link has been blocked', errorType: 'BLOCKED' },
        path: `/${attacked.shortCode}`,
      });
    }, 30_000);
    await eventuallyPasses(async () => {
      const response = await bench.admin('GET', `/admin/links/${attacked.shortCode}/history`);
      const { events } = response.json() as { events: readonly object[] };
      expect(events[1]).to.deep.include({
        actor: 'web-safety',
        data: { reason: 'Safe Browsing lists the destination as unsafe' },
      });
    });
  });
});
