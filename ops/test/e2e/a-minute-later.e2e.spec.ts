import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSafeBrowsingDouble } from '../../../command-api/safety/testing/safe-browsing-double.js';
import { statuses, concurrently, type HttpResponse } from '../support/http.js';
import {
  keyFixture,
  productFixture,
  destination,
  expectError,
  expectRefused,
  type Link,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import { fixture } from '../support/fixture.js';

/** The shortest life that a link may have, and the length of a per-minute window. */
const minuteMs = 60_000;

describe('product: minute later', () => {
  const reputation = fixture(
    () => startSafeBrowsingDouble(),
    (reputation) => reputation.stop(),
  );
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
    readonly what: string;
    readonly connection: RawConnection;
    drip: NodeJS.Timeout;
  }[] = [];

  let spare: RawConnection;

  const enter = (password: string): Promise<HttpResponse> =>
    bench.visit(guarded, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ password }).toString(),
    });

  /** A byte a second, for ever: the trickle that a time-out for silence would not notice. */
  const trickle = async (what: string, origin: string, head: string): Promise<void> => {
    const connection = await connectTo(origin);
    connection.socket.write(head);
    const drip = setInterval(() => connection.socket.write('x'), 1_000);
    slow.push({ what, connection, drip });
  };

  const beginSlowly = async (): Promise<void> => {
    const { api, edge, admin, adminToken } = bench.product;
    spare = await connectTo(edge);
    for (const origin of [api, edge, admin]) {
      await trickle('headers', origin, 'GET /health HTTP/1.1\r\nX-Slow: ');
    }
    for (const [origin, path, token] of [
      [api, '/v2/shorten', pro.key],
      [admin, '/admin/keys', adminToken],
    ] as const) {
      await trickle(
        'body',
        origin,
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n',
      );
    }
  };

  after('stop them', () => {
    spare.socket.destroy();
    for (const { connection, drip } of slow) {
      clearInterval(drip);
      connection.socket.destroy();
    }
  });

  before('spend a minute', async function () {
    this.timeout(90_000);
    await beginSlowly();
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
    // Until the very end of the window, and of the links' lives.
    expect((await bench.api('/v2/usage', free.key)).status).to.equal(429);
    const { status } = await bench.visit('cached-one');
    expect(status).to.equal(302);
    const end = Date.parse(links.limited.expiresAt ?? '');
    await sleep(end - Date.now() + 20);
  });

  it('a visitor who guessed wrong five times gets in with the password after a minute', async () => {
    expect((await enter('secret')).status).to.equal(303);
  });

  it('links expire to the millisecond, visited before or not', async () => {
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

  it('an expired link keeps its statistics, and later visits are not counted', async () => {
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

  it('an expired alias cannot be taken over', async () => {
    const other = (await bench.key('PRO', { account: 'other' })).key;
    for (const key of [pro.key, other]) {
      const response = await bench.shorten(key, { url: destination, alias: 'cached-one' });
      expectRefused(response, 400, 'Alias is already taken');
    }
  });

  it('a key gets a new window of 60 s', async () => {
    await sleep(Math.max(0, reset * 1_000 - Date.now()));
    const from = Math.floor(Date.now() / 1_000);
    const responses = await concurrently(80, () => bench.api('/v2/usage', free.key));
    expect(statuses(responses)).to.deep.equal({ 200: 60, 429: 20 });
    const resets = new Set(responses.map(({ headers }) => headers['x-ratelimit-reset']));
    expect([...resets].map(Number)).to.have.length(1);
    // 60 s from its first call, whenever that came.
    const until = Math.ceil(Date.now() / 1_000);
    expect(Number([...resets][0])).to.be.within(from + 59, until + 61);
  });

  it('slow clients are cut off: after 10 s for the headers, 30 s for the request, checked every 5 s', async () => {
    expect(slow).to.have.length(5);
    for (const { what, connection } of slow) {
      const ms = await connection.closed(0);
      const limit = what === 'headers' ? 10_000 : 30_000;
      expect(ms, what).to.be.within(limit - 500, limit + 7_000);
      expect(connection.received(), what).to.match(/^HTTP\/1\.1 408 /);
    }
  });

  it('an idle connection is closed without an answer', async () => {
    expect(await spare.closed(0)).to.be.within(9_500, 17_000);
    expect(spare.received()).to.equal('');
  });

  it('a link that Safe Browsing learns to be unsafe is blocked, with the checker as actor', async () => {
    await eventuallyPasses(30_000, async () => {
      expectError(await bench.visit(attacked.shortCode), {
        status: 410,
        message: 'This link has been blocked',
        path: `/${attacked.shortCode}`,
        errorType: 'BLOCKED',
      });
    });
    await eventuallyPasses(10_000, async () => {
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
