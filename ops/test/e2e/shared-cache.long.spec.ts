import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthResponse } from '../../../schemas/http/health.js';
import { createLogger } from '../../platform/logging.js';
import { startRedis, type RedisServer } from '../../local/redis.js';
import { parseExposition, total } from '../support/exposition.js';
import { sendRequest } from '../support/http.js';
import { startProduct, type Product } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { destination, type Link } from './harness.js';
import { temporaryDir } from '../support/process.js';
import { databaseFixture } from '../support/fixtures.js';

const logger = createLogger('silent');
const lookups = 'linklog_edge_shared_cache_lookups_total';
const writes = 'linklog_edge_shared_cache_writes_total';

/** How long an edge receives notifications before it uses cached copies. */
const warmUpMs = 60_000;
/** The contract's 1 s, with room for a busy machine. */
const propagationMs = 2_000;

describe('redirect edge: two edges that share a Redis', () => {
  const database = databaseFixture('shared');
  let dataDir: string;
  let redis: RedisServer;
  let first: Product;
  let second: Product;
  let key: string;
  const started: Product[] = [];

  before('wait until the edges use Redis', async function () {
    this.timeout(180_000);
    dataDir = await temporaryDir();
    redis = await startRedis({ dataDir, logger, tied: true, dump: true });
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      ADMIN_TOKEN: 'a-token-of-both-products',
      LOG_LEVEL: 'error',
    };
    started.push((first = await startProduct({ env })));
    started.push((second = await startProduct({ env })));
    ({ key } = await first.createKey({ plan: 'PRO' }));
    await sleep(warmUpMs);
  });

  after(async function () {
    this.timeout(60_000);
    try {
      await Promise.all(started.map((product) => product.stop()));
    } finally {
      await Promise.all(started.map((product) => product.cleanup()));
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

  const setBlock = async (what: 'block' | 'unblock', code: string): Promise<void> => {
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

  /** Repeats `act` until the metric counts the result: a busy machine may exceed the edge's deadline. */
  const actUntil = async (
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
      await eventually('the metric has changed', async () => (await sum()) > total);
      return (await measured(product, name, { result })) > before;
    });
  };

  /** Creates a link that the first edge has copied to Redis and the second has not cached. */
  const sharedLink = async (): Promise<string> => {
    let code = '';
    await actUntil('the copy is stored', first, writes, 'done', async () => {
      code = await shorten();
      expect(await visit(first, code)).to.equal(302);
    });
    return code;
  };

  /** The second edge serves a copy of the first. */
  const expectShared = (): Promise<void> =>
    actUntil('the link is served from a copy', second, lookups, 'hit', async () => {
      expect(await visit(second, await sharedLink())).to.equal(302);
    });

  const expectBlocked = async (...codes: readonly string[]): Promise<void> => {
    await sleep(propagationMs);
    for (let index = 0; index < 5; index += 1) {
      for (const code of codes) {
        for (const product of [first, second]) expect(await visit(product, code)).to.equal(410);
      }
    }
  };

  const waitForCircuit = (state: string): Promise<void> =>
    eventually(`the circuits are ${state}`, async () => {
      let areInState = true;
      for (const product of [first, second]) {
        await visit(product, 'unknown0');
        const value = await measured(product, 'linklog_edge_shared_cache_circuit', { state });
        areInState &&= value === 1;
      }
      return areInState;
    });

  const waitUntilUsed = async (): Promise<void> => {
    for (const product of [first, second]) {
      await actUntil('Redis responds', product, lookups, 'miss', async () => {
        await visit(product, 'unknown0');
      });
    }
  };

  const ready = async (product: Product): Promise<readonly [number, HealthResponse]> => {
    const response = await sendRequest(`${product.edge}/health/ready`);
    return [response.status, response.json() as HealthResponse];
  };

  it('use copies of the other edge', async () => {
    await expectShared();
    const [status, { dependencies }] = await ready(second);
    expect([status, dependencies['redis']]).to.deep.equal([200, { state: 'up' }]);
  });

  it('both apply a block and an unblock, whatever Redis contains', async () => {
    const code = await sharedLink();
    await setBlock('block', code);
    await expectBlocked(code);
    await setBlock('unblock', code);
    for (const product of [first, second]) {
      await eventually('the link redirects', async () => (await visit(product, code)) === 302);
    }
  });

  it('serve and block while Redis is down, and stay ready', async function () {
    this.timeout(60_000);
    const code = await sharedLink();
    const port = Number(new URL(redis.url).port);
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    const created = await shorten();
    for (const product of [first, second]) expect(await visit(product, created)).to.equal(302);
    await setBlock('block', code);
    await setBlock('block', created);
    await expectBlocked(code, created);
    await waitForCircuit('open');
    for (const product of [first, second]) {
      await eventually('Redis is reported as down', async () => {
        const [status, { dependencies, ...report }] = await ready(product);
        expect([status, report.status]).to.deep.equal([200, 'pass']);
        return dependencies['redis']?.state === 'down';
      });
    }
    redis = await startRedis({ dataDir, logger, tied: true, dump: true, port });
    await waitUntilUsed();
    await expectBlocked(code, created);
    await expectShared();
  });
});
