import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import {
  destination,
  expectError,
  expectRefused,
  keyFixture,
  sharedProduct,
  type Link,
} from './harness.js';

describe('product: expiry of links, and timeouts of slow clients', () => {
  const bench = sharedProduct();
  const account = 'expiry-and-timeouts';
  const pro = keyFixture(bench, 'PRO', { account });
  let links: { cached: Link; uncached: Link; limited: Link };
  /** Clients that send one byte per second, so that an idle timeout does not fire. */
  const slow: { kind: 'headers' | 'body'; connection: RawConnection; drip: NodeJS.Timeout }[] = [];
  let idle: RawConnection;

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
    idle.socket.destroy();
    for (const { connection, drip } of slow) {
      clearInterval(drip);
      connection.socket.destroy();
    }
  });

  before('wait a minute', async function () {
    this.timeout(90_000);
    await openConnections();
    links = {
      cached: await bench.link(pro.key, { alias: 'minute-cached', expiresIn: 60 }),
      uncached: await bench.link(pro.key, { expiresIn: 60 }),
      limited: await bench.link(pro.key, { expiresIn: 60, maxClicks: 5 }),
    };
    await bench.visit(links.cached.shortCode);
    await bench.visit(links.limited.shortCode);
    await sleep(Date.parse(links.cached.expiresAt ?? '') - Date.now() - 2_000);
    expect((await bench.visit(links.cached.shortCode)).status).to.equal(302);
    await sleep(Date.parse(links.limited.expiresAt ?? '') - Date.now() + 20);
  });

  it('expires cached and uncached links to the millisecond', async () => {
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

  it('disconnects slow clients: after 10 s for the headers, 30 s for the request', async () => {
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
});
