import { expect } from 'chai';
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthResponse } from '../../../schemas/http/health.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../platform/redis.js';
import { startRedis, type RedisServer } from '../../local/redis.js';
import { parseExposition, total } from '../support/exposition.js';
import { sendRequest } from '../support/http.js';
import { startProduct, type Product } from '../support/product.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { eventually } from '../support/waiting.js';
import { destination, type Link } from './harness.js';
import { temporaryDir } from '../support/process.js';
import { databaseFixture } from '../support/fixtures.js';

const logger = createLogger('silent');
const lookups = 'linklog_edge_shared_cache_lookups_total';
const writes = 'linklog_edge_shared_cache_writes_total';

/** How long an edge listens before it believes any copy. */
const settlingMs = 60_000;
/** The contract's 1 s, with room for a busy machine. */
const heardWithinMs = 2_000;

describe('redirect edge: two edges that share a Redis', () => {
  const database = databaseFixture('shared');
  let dataDir: string;
  let redis: RedisServer;
  let proxy: TcpProxy;
  let first: Product;
  let second: Product;
  let key: string;
  const started: Product[] = [];

  before('listen for a minute', async function () {
    this.timeout(180_000);
    dataDir = await temporaryDir();
    redis = await startRedis({ dataDir, logger, tied: true, dump: true });
    proxy = await startTcpProxy(redis.url);
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: proxy.url,
      ADMIN_TOKEN: 'a-token-of-both-products',
      LOG_LEVEL: 'error',
    };
    started.push((first = await startProduct({ env })));
    started.push((second = await startProduct({ env })));
    ({ key } = await first.createKey({ plan: 'PRO' }));
    await sleep(settlingMs);
  });

  after(async function () {
    this.timeout(60_000);
    try {
      await Promise.all(started.map((product) => product.stop()));
    } finally {
      await Promise.all(started.map((product) => product.cleanup()));
      await proxy.close();
      await redis.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  const shorten = async (): Promise<string> => {
    const response = await sendRequest(`${first.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: destination },
    });
    expect(response.status).to.equal(201);
    return (response.json() as Link).shortCode;
  };

  const visit = async ({ edge }: Product, code: string): Promise<number> =>
    (await sendRequest(`${edge}/${code}`)).status;

  const decide = async (what: 'block' | 'unblock', code: string): Promise<void> => {
    const response = await sendRequest(`${first.admin}/admin/links/${code}/${what}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${first.adminToken}` },
      body: { reason: 'phishing' },
    });
    expect(response.status).to.equal(200);
  };

  const measured = async (
    product: Product,
    name: string,
    labels: Readonly<Record<string, string>>,
  ): Promise<number> => {
    const { text } = await sendRequest(`${product.admin}/metrics`);
    return total(parseExposition(text), name, labels);
  };

  /** What lies in Redis, by whatever key. */
  const copies = async (): Promise<number> => {
    const client = await openRedis(redis.url, logger);
    try {
      await eventually('Redis answers', () => client.status === 'ready');
      return await client.dbsize();
    } finally {
      client.disconnect();
    }
  };

  /** What is done gives a copy, in time: a busy machine may take longer than the edge waits. */
  const inTime = async (
    what: string,
    product: Product,
    name: string,
    result: string,
    act: () => Promise<void>,
  ): Promise<void> => {
    const sum = (): Promise<number> => measured(product, name, {});
    await eventually(what, async () => {
      const [total, before] = [await sum(), await measured(product, name, { result })];
      await act();
      await eventually('it has come to something', async () => (await sum()) > total);
      return (await measured(product, name, { result })) > before;
    });
  };

  /** A link whose copy the first edge has laid down, and that the second one never saw. */
  const sharedLink = async (): Promise<string> => {
    let code = '';
    await inTime('its copy is laid down', first, writes, 'done', async () => {
      code = await shorten();
      expect(await visit(first, code)).to.equal(302);
    });
    return code;
  };

  /** The second edge serves what the first one has read. */
  const isShared = (): Promise<void> =>
    inTime('it is served from a copy', second, lookups, 'hit', async () => {
      expect(await visit(second, await sharedLink())).to.equal(302);
    });

  const expectBlocked = async (...codes: readonly string[]): Promise<void> => {
    await sleep(heardWithinMs);
    for (let index = 0; index < 5; index += 1) {
      for (const code of codes) {
        for (const product of [first, second]) expect(await visit(product, code)).to.equal(410);
      }
    }
  };

  const circuitIs = (state: string): Promise<void> =>
    eventually(`the circuits are ${state}`, async () => {
      let areInState = true;
      for (const product of [first, second]) {
        await visit(product, 'nobody');
        const value = await measured(product, 'linklog_edge_shared_cache_circuit', { state });
        areInState &&= value === 1;
      }
      return areInState;
    });

  const isInUse = async (): Promise<void> => {
    for (const product of [first, second]) {
      await inTime('Redis is asked, and answers', product, lookups, 'miss', async () => {
        await visit(product, 'nobody');
      });
    }
  };

  const ready = async (product: Product): Promise<readonly [number, HealthResponse]> => {
    const response = await sendRequest(`${product.edge}/health/ready`);
    return [response.status, response.json() as HealthResponse];
  };

  it('use what the other edge has cached', async () => {
    await isShared();
    const [status, { dependencies }] = await ready(second);
    expect([status, dependencies['redis']]).to.deep.equal([200, { state: 'up' }]);
  });

  it('both apply a block and an unblock, whatever Redis holds', async () => {
    const code = await sharedLink();
    await decide('block', code);
    await expectBlocked(code);
    await decide('unblock', code);
    for (const product of [first, second]) {
      await eventually('it redirects', async () => (await visit(product, code)) === 302);
    }
  });

  it('redirect and block as ever when somebody writes copies of his own into Redis', async function () {
    this.timeout(60_000);
    const attacker = await openRedis(redis.url, logger);
    await eventually('Redis answers', () => attacker.status === 'ready');
    let [code, name, forged] = ['', '', ''];
    await inTime('it is seen to be forged', second, lookups, 'forged', async () => {
      code = await sharedLink();
      [name = ''] = await attacker.keys(`*:${code}`);
      forged = ((await attacker.get(name)) ?? '')
        .replace(/"location":"[^"]*"/, '"location":"https://attacker.example/"')
        .replace(/"sequence":\d+/, `"sequence":${Number.MAX_SAFE_INTEGER}`);
      expect(forged).to.match(/attacker.*9007199254740991/);
      await attacker.set(name, forged);
      const { status, headers } = await sendRequest(`${second.edge}/${code}`);
      expect([status, headers.location]).to.deep.equal([302, destination]);
    });
    await decide('block', code);
    await attacker.set(name, forged);
    await expectBlocked(code);
    attacker.disconnect();
  });

  it('apply a block when an old dump of Redis is restored', async function () {
    this.timeout(60_000);
    const codes = [await sharedLink(), await sharedLink(), await sharedLink()];
    const port = Number(new URL(redis.url).port);
    const dump = path.join(dataDir, 'dump.rdb');
    // Its stop writes the dump.
    await redis.stop();
    for (const code of codes) await decide('block', code);
    await copyFile(dump, `${dump}.old`);
    redis = await startRedis({ dataDir, logger, tied: true, dump: true, port });
    expect(await copies()).to.be.at.least(3);
    await isInUse();
    await expectBlocked(...codes);
  });

  it('serve and block while Redis hangs, and report it', async function () {
    this.timeout(60_000);
    const code = await sharedLink();
    proxy.mute();
    const created = await shorten();
    for (const product of [first, second]) expect(await visit(product, created)).to.equal(302);
    await decide('block', code);
    await decide('block', created);
    await expectBlocked(code, created);
    await circuitIs('open');
    expect(await measured(second, lookups, { result: 'failed' })).to.be.above(0);
    proxy.cut();
    await isInUse();
  });

  it('serve and block while Redis is down, and stay ready', async function () {
    this.timeout(60_000);
    const code = await sharedLink();
    const port = Number(new URL(redis.url).port);
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    const created = await shorten();
    for (const product of [first, second]) expect(await visit(product, created)).to.equal(302);
    await decide('block', code);
    await decide('block', created);
    await expectBlocked(code, created);
    await circuitIs('open');
    for (const product of [first, second]) {
      await eventually('it is known to be down', async () => {
        const [status, { dependencies, ...report }] = await ready(product);
        expect([status, report.status]).to.deep.equal([200, 'pass']);
        return dependencies['redis']?.state === 'down';
      });
    }
    redis = await startRedis({ dataDir, logger, tied: true, dump: true, port });
    await isInUse();
    await expectBlocked(code, created);
    await isShared();
  });
});
