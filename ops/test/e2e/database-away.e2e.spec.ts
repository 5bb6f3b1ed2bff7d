import { expect } from 'chai';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { ask } from '../support/http.js';
import { serversFor, startProduct, type Product } from '../support/product.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { sealKeyFileIn } from '../../app/data-dir.js';
import { Bench, destination, expectRefused } from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';

describe('product: while PostgreSQL is away', () => {
  /** Its PostgreSQL is the one that the product under test reaches through a relay. */
  const database = new Bench();
  const bench = new Bench();
  let proxy: TcpProxy;
  let product: Product;
  let pro: string;

  before('start the product on a database of another', async function () {
    this.timeout(120_000);
    await database.start();
    const url = await runningPostgresUrl(database.product.dataDir);
    if (url === null) throw new Error('The first product has started a PostgreSQL');
    proxy = await startTcpProxy(url);
    const { adminToken, dataDir } = database.product;
    const servers = {
      ...(await serversFor(dataDir)),
      DATABASE_URL: proxy.url,
      // One key for all that seal the log.
      SEAL_KEY_FILE: sealKeyFileIn(dataDir),
    };
    product = await startProduct({ env: { ...servers, ADMIN_TOKEN: adminToken } });
    bench.use(product);
    pro = (await bench.key('PRO')).key;
  });
  after('stop all', async () => {
    try {
      await bench.end();
    } finally {
      await proxy.close();
      await database.end();
    }
  });

  it('a POST gets 503 with Retry-After, cached links redirect, and a retry makes one link', async () => {
    const { shortCode } = await bench.link(pro);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    const before = await bench.api('/v2/usage', pro);
    proxy.pause();
    proxy.cut();

    const idempotent = { 'Idempotency-Key': 'away' };
    const began = performance.now();
    const answer = await bench.shorten(pro, { url: destination }, idempotent);
    expect(performance.now() - began, 'generously more than the 2 s').to.be.below(10_000);
    expectRefused(answer, 503, 'Service is temporarily unavailable');
    expect(answer.headers['retry-after']).to.match(/^[1-9]\d*$/);
    expect((await bench.visit(shortCode)).headers.location).to.equal(destination);
    expect((await ask(`${product.api}/health`)).status).to.equal(200);
    expect((await ask(`${product.api}/health/ready`)).status).to.equal(503);

    proxy.resume();
    await eventuallyPasses(20_000, async () => {
      const again = await bench.shorten(pro, { url: destination }, idempotent);
      expect(again.status, again.text).to.equal(201);
    });
    const { links } = before.json() as { links: { used: number } };
    const after = (await bench.api('/v2/usage', pro)).json();
    expect(after).to.deep.include({ links: { ...links, used: links.used + 1 } });
  });
});
