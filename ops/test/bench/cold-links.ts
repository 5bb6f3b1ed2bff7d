import { copyLifeMs, Freshness } from '../../../redirect-edge/links/freshness.js';
import { LinkCache, LinkReader } from '../../../redirect-edge/links/link-reader.js';
import {
  CopyStore,
  DatabaseClock,
  readCopyKey,
  SharedCache,
} from '../../../redirect-edge/links/shared-cache.js';
import { evolveLink, initialState } from '../../../schemas/folds/link.js';
import { rowOfState } from '../../../schemas/read-models/redirects.js';
import { created } from '../../../schemas/testing/events.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../platform/redis.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { median } from '../support/median.js';
import { testNode } from '../support/node.js';
import { stopTestRedis, testRedis } from '../support/redis.js';
import { eventually } from '../support/waiting.js';

const logger = createLogger('silent');
const links = 20_000;
const visitors = 64;
const rounds = 7;
const batch = 500;

const codes = Array.from({ length: links }, (_, index) => `cold-${index}`);

/**
 * Looks links up that an edge has not in memory, from PostgreSQL and from Redis in turn: the long
 * form of what REDIS_URL is good for. `node dist/ops/test/bench/cold-links.js`
 */
const run = async (): Promise<void> => {
  const database = await testDatabase('cold');
  const node = await testNode(database);
  const redis = await openRedis((await testRedis()).url, logger);
  await eventually('Redis is connected', () => redis.status === 'ready');
  const clock = new DatabaseClock(node.pool);
  await clock.sync();
  const key = await readCopyKey(node.pool);

  const row = rowOfState(evolveLink(initialState, created('x')), 1);
  await node.pool.query(
    `INSERT INTO projection_redirects.links
     SELECT (jsonb_populate_record(NULL::projection_redirects.links,
             $1::jsonb || jsonb_build_object('code', code))).* FROM unnest($2::text[]) AS code`,
    [JSON.stringify(row), codes],
  );
  await node.pool.query(
    `INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at, created_at)
     SELECT code, 'key-1', 'default', 1, now(), now() FROM unnest($1::text[]) AS code`,
    [codes],
  );

  /** An edge that has just begun to believe copies, with nothing in memory. */
  const edge = (withRedis: boolean) => {
    let late = 0;
    const freshness = new Freshness(() => performance.now() + late);
    const store = new CopyStore(redis, 'bench');
    // Patient: what is measured is the speed, not the circuit.
    const shared = new SharedCache({ key, store, freshness, clock, logger, timeoutMs: 1_000 });
    const cache = new LinkCache(2 ** 26);
    const reader = new LinkReader(
      node.pool,
      node.outbox,
      cache,
      freshness,
      withRedis ? shared : null,
    );
    reader.markAllStale(true);
    late = copyLifeMs;
    return { reader, activity: shared };
  };

  const layDown = async (): Promise<void> => {
    await redis.flushall();
    const { reader, activity } = edge(true);
    for (let from = 0; from < links; from += batch) {
      await Promise.all(codes.slice(from, from + batch).map((code) => reader.read(code)));
      await eventually('all is laid down', () => activity.writes.done === from + batch);
    }
  };

  const measure = async (withRedis: boolean): Promise<{ perSecond: number; p99: number }> => {
    const { reader, activity } = edge(withRedis);
    const waits: number[] = [];
    let next = 0;
    const began = performance.now();
    const visitor = async (): Promise<void> => {
      for (let code = codes[next]; code !== undefined; code = codes[next]) {
        next += 1;
        const asked = performance.now();
        if ((await reader.read(code)) === null) throw new Error(`${code} is there`);
        waits.push(performance.now() - asked);
      }
    };
    await Promise.all(Array.from({ length: visitors }, visitor));
    const seconds = (performance.now() - began) / 1_000;
    if (withRedis && activity.lookups.hit < 0.99 * links) throw new Error('Redis was not used');
    waits.sort((a, b) => a - b);
    return { perSecond: links / seconds, p99: waits[Math.floor(0.99 * waits.length)] ?? NaN };
  };

  const seen = {
    postgres: [] as number[],
    redis: [] as number[],
    speed: [] as number[],
    p99: [] as number[],
  };
  for (let round = 0; round < rounds; round += 1) {
    await layDown();
    const [without, having] = [await measure(false), await measure(true)];
    seen.postgres.push(without.p99);
    seen.redis.push(having.p99);
    seen.speed.push(having.perSecond / without.perSecond);
    seen.p99.push(having.p99 / without.p99);
  }
  const round2 = (value: number): number => Math.round(value * 100) / 100;
  const figures = {
    ...{ links, visitors, rounds },
    p99Ms: { postgres: round2(median(seen.postgres)), redis: round2(median(seen.redis)) },
    ofPostgres: { lookUpsPerSecond: round2(median(seen.speed)), p99: round2(median(seen.p99)) },
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  redis.disconnect();
  await node.close();
  await database.drop();
  await stopTestRedis();
  await stopTestServer();
};

await run();
