// What takes time, side by side: links end after 20 s, slow clients are disconnected after 30 s.
import { expect } from 'chai';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, expectRefused, keyFixture, sharedProduct } from './harness.js';
import { importCalls } from './imports-harness.js';

const lifetimeMs = 20_000;
const kinds = ['cached', 'uncached', 'limited'] as const;

describe('product: expiry of links, and timeouts of slow clients', () => {
  const bench = sharedProduct();
  const account = 'expiry-and-timeouts';
  const pro = keyFixture(bench, 'PRO', { account });
  const codeOf = (kind: (typeof kinds)[number]): string => `ending-${kind}`;
  /** Clients that send one byte per second, so that an idle timeout does not fire. */
  const slow: { kind: 'headers' | 'body'; connection: RawConnection; drip: NodeJS.Timeout }[] = [];
  let idle: RawConnection;
  let uploads: readonly number[];

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

  /** Uploads a file for 36 s: a row with a URL of so many characters each second. @returns the status */
  const upload = async (name: string, length: number): Promise<number> => {
    const headers = { Authorization: `Bearer ${pro.key}` };
    const options = { agent: false, method: 'POST', headers };
    const client = request(`${bench.product.api}/v2/imports`, options);
    // The connection is closed with the response.
    client.on('error', () => undefined);
    let status: number | undefined;
    const received = once(client, 'response').then(([response]) => {
      status = (response as { readonly statusCode: number }).statusCode;
    });
    client.write('code,url\n');
    for (let second = 0; second < 36 && status === undefined; second += 1) {
      client.write(`${name}-${second},https://example.com/${'x'.repeat(length)}\n`);
      await sleep(1_000);
    }
    if (status === undefined) client.end(`${name}-end,https://example.com/\n`);
    await received;
    return status ?? 0;
  };

  before(async function () {
    this.timeout(90_000);
    const uploading = Promise.all([upload('long', 1_500), upload('slow', 10)]);
    await openConnections();
    // Requests cannot create a link that ends in less than a minute.
    const expiresAt = Date.now() + lifetimeMs;
    const file = kinds.map((kind) => {
      const link = { url: destination, code: codeOf(kind), expiresAt: new Date(expiresAt) };
      return `${JSON.stringify({ ...link, ...(kind === 'limited' && { maxClicks: 5 }) })}\n`;
    });
    await importCalls(bench).run(file.join(''), pro.key, '?format=linklog');
    for (const kind of ['cached', 'limited'] as const) await bench.visit(codeOf(kind));
    await sleep(expiresAt - Date.now() - 1_000);
    expect((await bench.visit(codeOf('cached'))).status).to.equal(302);
    await sleep(expiresAt - Date.now() + 20);
    for (const kind of kinds) {
      const path = `/${codeOf(kind)}`;
      expectError(await bench.visit(codeOf(kind)), {
        ...{ status: 410, message: 'This link has expired', errorType: 'EXPIRED', path },
      });
    }
    uploads = await uploading;
  });
  after('close the connections', () => {
    idle.socket.destroy();
    for (const { connection, drip } of slow) {
      clearInterval(drip);
      connection.socket.destroy();
    }
  });

  it('counts the visits of a link until its end, and keeps its code', async () => {
    await bench.expectClicks(codeOf('cached'), pro.key, 2);
    await bench.expectClicks(codeOf('uncached'), pro.key, 0);
    await bench.expectClicks(codeOf('limited'), pro.key, 1);
    const again = await bench.shorten(pro.key, { url: destination, alias: codeOf('cached') });
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

  it('lets the upload of an import take longer, unless it has less than 1 KB/s over 10 s', async () => {
    expect(uploads).to.deep.equal([202, 408]);
    await eventuallyPasses(async () => {
      expect((await bench.visit('long-end')).status).to.equal(302);
    });
  });
});
