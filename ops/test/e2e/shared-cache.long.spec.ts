import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HealthResponse } from '../../../schemas/http/health.js';
import { startRedis, type RedisServer } from '../../local/redis.js';
import { createLogger } from '../../platform/logging.js';
import { parseExposition, total } from '../support/exposition.js';
import { databaseFixture, folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { productFixture } from './harness.js';
import { needs } from '../support/needs.js';

/** How long an edge receives notifications before it uses cached copies. */
const warmUpMs = 60_000;
/** The contract's 1 s, with room for a busy machine. */
const propagationMs = 2_000;

// Forged copies, old dumps and an unresponsive Redis are in shared-cache.int.spec.ts.
describe('redirect edge: two edges that share a Redis', function () {
  this.timeout(120_000);
  needs('redis-server');
  const database = databaseFixture('shared');
  const folder = folderFixture();
  let redis: RedisServer;
  const start = async (port?: number): Promise<void> => {
    redis = await startRedis({
      ...{ dataDir: folder.path, logger: createLogger('silent'), tied: true, dump: true },
      ...(port !== undefined && { port }),
    });
  };
  before(() => start());
  after(() => redis.stop());
  const env = () => ({
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    ADMIN_TOKEN: 'a-token-of-both-products',
    LOG_LEVEL: 'error',
  });
  const [first, second] = [productFixture(env), productFixture(env)];
  let key: string;

  before('wait until the edges use Redis', async () => {
    ({ key } = await first.key('PRO'));
    await sleep(warmUpMs);
  });

  const countHits = async (): Promise<number> => {
    const { text } = await sendRequest(`${second.product.admin}/metrics`);
    const name = 'linklog_edge_shared_cache_lookups_total';
    return total(parseExposition(text), name, { result: 'hit' });
  };

  /** Creates a link that the second edge serves from a copy of the first. */
  const sharedLink = async (): Promise<string> => {
    let code = '';
    // Repeated, because a busy machine may exceed the edge's deadline.
    await eventuallyPasses(async () => {
      const before = await countHits();
      ({ shortCode: code } = await first.link(key));
      for (const bench of [first, second]) expect((await bench.visit(code)).status).to.equal(302);
      expect(await countHits()).to.be.above(before);
    }, 30_000);
    return code;
  };

  const setBlock = (what: 'block' | 'unblock', code: string) =>
    first.admin('POST', `/admin/links/${code}/${what}`, { reason: 'phishing' });

  const expectBlocked = async (...codes: readonly string[]): Promise<void> => {
    await sleep(propagationMs);
    for (const code of codes) {
      for (const bench of [first, second, first, second]) {
        expect((await bench.visit(code)).status).to.equal(410);
      }
    }
  };

  const expectState = (state: 'up' | 'down'): Promise<void> =>
    eventuallyPasses(async () => {
      for (const bench of [first, second]) {
        await bench.visit('unknown0');
        const response = await sendRequest(`${bench.product.edge}/health/ready`);
        const { dependencies, status } = response.json() as HealthResponse;
        expect([response.status, status]).to.deep.equal([200, 'pass']);
        expect(dependencies['redis']?.state).to.equal(state);
      }
    }, 30_000);

  it('use copies of the other edge, and both apply a block and an unblock', async () => {
    const code = await sharedLink();
    await expectState('up');
    await setBlock('block', code);
    await expectBlocked(code);
    await setBlock('unblock', code);
    await eventuallyPasses(async () => {
      for (const bench of [first, second]) expect((await bench.visit(code)).status).to.equal(302);
    });
  });

  it('serve and block while Redis is down, stay ready, and use it again', async () => {
    const code = await sharedLink();
    process.kill(redis.pid, 'SIGKILL');
    await redis.exited;
    const { shortCode: created } = await first.link(key);
    for (const bench of [first, second]) expect((await bench.visit(created)).status).to.equal(302);
    for (const blocked of [code, created]) await setBlock('block', blocked);
    await expectBlocked(code, created);
    await expectState('down');
    await start(Number(new URL(redis.url).port));
    await expectState('up');
    await expectBlocked(code, created);
    await sharedLink();
  });
});
