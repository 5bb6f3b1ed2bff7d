import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { safeBrowsingFixture } from '../support/fixtures.js';
import { statuses, concurrently, type HttpResponse } from '../support/http.js';
import {
  keyFixture,
  productFixture,
  destination,
  expectError,
  expectRefused,
  passwordForm,
  type Link,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';

/** The shortest `expiresIn`, and the length of a rate-limit window. */
const minuteMs = 60_000;

describe('product: minute later', () => {
  const reputation = safeBrowsingFixture();
  const bench = productFixture(() => ({
    SAFE_BROWSING_API_KEY: 'a-key',
    SAFE_BROWSING_URL: reputation.url,
  }));
  let attacked: Link;
  let guarded: string;
  const pro = keyFixture(bench, 'PRO');
  const free = keyFixture(bench, 'FREE');
  let links: { cached: Link; uncached: Link; limited: Link };
  let reset: number;
  const slow: {
    readonly kind: string;
    readonly connection: RawConnection;
    drip: NodeJS.Timeout;
  }[] = [];

  let spare: RawConnection;

  const enter = (password: string): Promise<HttpResponse> =>
    bench.visit(guarded, passwordForm(password));

  /** Sends one byte per second: an idle timeout does not fire. */
  const sendSlowly = async (kind: string, origin: string, head: string): Promise<void> => {
    const connection = await connectTo(origin);
    connection.socket.write(head);
    const drip = setInterval(() => connection.socket.write('x'), 1_000);
    slow.push({ kind, connection, drip });
  };

  const openSlowConnections = async (): Promise<void> => {
    const { api, edge, admin, adminToken } = bench.product;
    spare = await connectTo(edge);
    for (const origin of [api, edge, admin]) {
      await sendSlowly('headers', origin, 'GET /health HTTP/1.1\r\nX-Slow: ');
    }
    for (const [origin, path, token] of [
      [api, '/v2/shorten', pro.key],
      [admin, '/admin/keys', adminToken],
    ] as const) {
      await sendSlowly(
        'body',
        origin,
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n',
      );
    }
  };

  after('close the connections', () => {
    spare.socket.destroy();
    for (const { connection, drip } of slow) {
      clearInterval(drip);
      connection.socket.destroy();
    }
  });

  before('wait a minute', async function () {
    this.timeout(90_000);
    await openSlowConnections();
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
      cached: await bench.link(pro.key, { alias: 'cached-one', expiresIn: 60 }),
      uncached: await bench.link(pro.key, { expiresIn: 60 }),
      limited: await bench.link(pro.key, { expiresIn: 60, maxClicks: 5 }),
    };
    attacked = await bench.link(pro.key, { url: 'https://attacked.example/' });
    reputation.listed.add('attacked.example');
    await bench.visit('cached-one');
    await bench.visit(links.limited.shortCode);
    await sleep(minuteMs - 3_000 - (performance.now() - windowMs));
    // Just before the window ends and the links expire.
    expect((await bench.api('/v2/usage', free.key)).status).to.equal(429);
    const { status } = await bench.visit('cached-one');
    expect(status).to.equal(302);
    const end = Date.parse(links.limited.expiresAt ?? '');
    await sleep(end - Date.now() + 20);
  });

  it('redirects a visitor with the right password a minute after five wrong ones', async () => {
    expect((await enter('secret')).status).to.equal(303);
  });

  it('expires cached and uncached links to the millisecond', async () => {
    for (const { shortCode } of Object.values(links)) {
      for (const options of [{}, { headers: { 'User-Agent': 'Googlebot/2.1' } }]) {
        expectError(await bench.visit(shortCode, options), {
          status: 410,
          message: 'This link has expired',
          path: `/${shortCode}`,
          errorType: 'EXPIRED',
        });
      }
      const page = await bench.visit(shortCode, { headers: { Accept: 'text/html' } });
      expect(page.status).to.equal(410);
      expect(page.headers['content-type']).to.equal('text/html; charset=utf-8');
      expect(page.headers['cache-control']).to.equal('no-store');
      expect(page.text).to.include('<title>This link has expired</title>');
      expect(page.text).not.to.include('example.com');
      const head = await bench.visit(shortCode, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([410, '']);
    }
  });

  it('keeps the statistics of an expired link, and counts no later visits', async () => {
    const { shortCode, createdAt, expiresAt } = links.cached;
    const stats = await bench.stats(shortCode, pro.key);
    expect(stats).to.deep.equal({
      shortCode,
      url: destination,
      clickCount: 2,
      createdAt,
      lastAccessed: stats.lastAccessed,
      expiresAt,
      maxClicks: null,
    });
    expect(Date.parse(stats.lastAccessed ?? '')).to.be.below(Date.parse(expiresAt ?? ''));
    expect((await bench.stats(links.uncached.shortCode, pro.key)).clickCount).to.equal(0);
    expect((await bench.stats(links.limited.shortCode, pro.key)).clickCount).to.equal(1);
  });

  it('does not assign an expired alias again', async () => {
    const other = (await bench.key('PRO', { account: 'other' })).key;
    for (const key of [pro.key, other]) {
      const response = await bench.shorten(key, { url: destination, alias: 'cached-one' });
      expectRefused(response, 400, 'Alias is already taken');
    }
  });

  it('starts a new rate-limit window after 60 s', async () => {
    await sleep(Math.max(0, reset * 1_000 - Date.now()));
    const from = Math.floor(Date.now() / 1_000);
    const responses = await concurrently(80, () => bench.api('/v2/usage', free.key));
    expect(statuses(responses)).to.deep.equal({ 200: 60, 429: 20 });
    const resets = new Set(responses.map(({ headers }) => headers['x-ratelimit-reset']));
    expect([...resets].map(Number)).to.have.length(1);
    const until = Math.ceil(Date.now() / 1_000);
    expect(Number([...resets][0])).to.be.within(from + 59, until + 61);
  });

  it('disconnects slow clients: after 10 s for the headers, 30 s for the request, checked every 5 s', async () => {
    expect(slow).to.have.length(5);
    for (const { kind, connection } of slow) {
      const ms = await connection.closed(0);
      const limit = kind === 'headers' ? 10_000 : 30_000;
      expect(ms, kind).to.be.within(limit - 500, limit + 7_000);
      expect(connection.received(), kind).to.match(/^HTTP\/1\.1 408 /);
    }
  });

  it('closes an idle connection without a response', async () => {
    expect(await spare.closed(0)).to.be.within(9_500, 17_000);
    expect(spare.received()).to.equal('');
  });

  it('blocks a link that Safe Browsing lists after its creation, with the actor web-safety', async () => {
    await eventuallyPasses(async () => {
      expectError(await bench.visit(attacked.shortCode), {
        status: 410,
        message: 'This link has been blocked',
        path: `/${attacked.shortCode}`,
        errorType: 'BLOCKED',
      });
    }, 30_000);
    await eventuallyPasses(async () => {
      const response = await bench.admin('GET', `/admin/links/${attacked.shortCode}/history`);
      const { events } = response.json() as { events: { actor?: string; data: object }[] };
      expect(events).to.have.length(2);
      expect(events[1]).to.deep.include({
        actor: 'web-safety',
        data: { reason: 'Safe Browsing lists the destination as unsafe' },
      });
    });
  });
});
