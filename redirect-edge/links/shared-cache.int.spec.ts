import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import pino from 'pino';
import { createLogger } from '../../ops/platform/logging.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { openRedis } from '../../ops/platform/redis.js';
import { startRedis, type RedisServer } from '../../ops/local/redis.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { startTcpProxy } from '../../ops/test/support/tcp-proxy.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { blocked, created } from '../../schemas/testing/events.js';
import { copyLifeMs, Freshness } from './freshness.js';
import { LinkCache, LinkReader } from './link-reader.js';
import { CopyStore, DatabaseClock, readCopyKey, SharedCache } from './shared-cache.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, folderFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');
const installation = 'test';
const keyOf = (code: string): string => `linklog:${installation}:link-v4:${code}`;

/** What no time-out of a test of answers may end: the machine may be busy. */
const patientMs = 10_000;

describe('redirect edge: shared cache in Redis', () => {
  const database = databaseFixture('shared');
  const node = ledgerFixture(database);
  const dataDir = folderFixture();
  let server: RedisServer;
  /** What an operator, or somebody else, does to Redis. */
  let operator: Redis;
  const warnings: string[] = [];

  before(async () => {
    server = await startRedis({ dataDir: dataDir.path, logger, tied: true, dump: true });
    operator = await openRedis(server.url, logger);
    await ready(operator);
  });

  after(async () => {
    operator.disconnect();
    await server.stop();
  });

  const ready = (redis: Redis): Promise<void> =>
    eventually('Redis is connected', () => redis.status === 'ready');

  /** An edge that has listened for long; `late` milliseconds later than it is. */
  const makeEdge = async (url = server.url, timeoutMs = patientMs) => {
    let late = 0;
    const now = (): number => performance.now() + late;
    const redis = await openRedis(url, logger);
    const freshness = new Freshness(now);
    const clock = new DatabaseClock(node.pool);
    await clock.sync();
    const shared = new SharedCache({
      key: await readCopyKey(node.pool),
      store: new CopyStore(redis, installation),
      ...{ freshness, clock, timeoutMs },
      logger: pino({ level: 'warn' }, { write: (line) => warnings.push(line) }),
    });
    const cache = new LinkCache(1e6);
    const links = new LinkReader(node.pool, node.outbox, cache, freshness, shared);
    links.markAllStale(true);
    late = copyLifeMs;
    const { lookups, writes } = shared;
    return {
      ...{ redis, links, shared, lookups, writes },
      /** Not from memory. */
      async status(code: string): Promise<string | null> {
        cache.delete(code);
        return (await links.read(code))?.status ?? null;
      },
      /** Its copy lies in Redis. */
      laid: (count: number): Promise<void> =>
        eventually('the copies are laid down', () => writes.done >= count),
      stop() {
        redis.disconnect();
      },
    };
  };
  type Edge = Awaited<ReturnType<typeof makeEdge>>;

  let one: Edge;
  let two: Edge;
  beforeEach(async () => {
    [one, two] = [await makeEdge(), await makeEdge()];
    await Promise.all([ready(one.redis), ready(two.redis)]);
  });
  afterEach(async () => {
    one.stop();
    two.stop();
    await operator.flushall();
  });

  let made = 0;
  /** A link whose copy was laid down by the first edge. */
  const sharedLink = async (): Promise<string> => {
    made += 1;
    const code = `shared-${made}`;
    const { done } = one.writes;
    await recordHistory(node, created(code));
    expect(await one.status(code)).to.equal('active');
    await one.laid(done + 1);
    return code;
  };

  const block = async (code: string): Promise<void> => {
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked(code, 2)])));
    for (const { links } of [one, two]) links.changed(code, 2);
  };

  it('gives the other edges all that a visit needs, without PostgreSQL', async () => {
    made += 1;
    const code = `whole-${made}`;
    const expiresAt = '2099-01-01T00:00:00.000Z';
    await recordHistory(node, created(code, { expiresAt, url: 'https://exämple.com/ä' }));
    const link = await one.links.read(code);
    await one.laid(1);
    expect(await two.links.read(code)).to.deep.equal(link);
    expect(two.links.cached(code)).to.deep.include(link);
    expect([two.lookups.hit, two.writes.done]).to.deep.equal([1, 0]);
    expect(await operator.pttl(keyOf(code))).to.be.within(1, copyLifeMs);
  });

  it('answers a tick’s visitors together, whether it has their links or not', async () => {
    const known = await sharedLink();
    await recordHistory(node, created('tick-new'));
    const asked = [known, 'tick-new', 'tick-none', known];
    const found = await Promise.all(asked.map((code) => two.links.read(code)));
    expect(found.map((link) => link?.code ?? null)).to.deep.equal([known, 'tick-new', null, known]);
    expect(two.lookups).to.include({ hit: 1, miss: 2 });
    await two.laid(1);
    expect(await operator.exists(keyOf('tick-none'))).to.equal(0);
  });

  it('holds no link with a limit or a password', async () => {
    const passwordHash = '$argon2id$v=19$secret';
    const history = [created('limit', { maxClicks: 3 }), created('secret', { passwordHash })];
    await recordHistory(node, ...history, created('open'));
    await Promise.all(['limit', 'secret', 'open'].map((code) => one.links.read(code)));
    await one.laid(1);
    expect(await operator.keys('*')).to.deep.equal([keyOf('open')]);
  });

  it('shows a block at once, and shares it', async () => {
    const code = await sharedLink();
    await block(code);
    expect(await two.status(code)).to.equal('blocked');
    expect(two.lookups).to.include({ hit: 0, refused: 1 });
    await two.laid(1);
    expect(await one.status(code)).to.equal('blocked');
    expect(one.lookups.hit).to.equal(1);
  });

  it('is not used by an edge that has not listened for a minute', async () => {
    const code = await sharedLink();
    two.links.markAllStale(true);
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked(code, 2)])));
    expect(await two.status(code)).to.equal('blocked');
    expect(two.lookups).to.include({ hit: 0, unasked: 1 });
  });

  it('keeps installations apart that share a Redis', async () => {
    const code = await sharedLink();
    const other = new CopyStore(operator, 'another');
    expect(await other.read([code])).to.deep.equal([null]);
    expect(await new CopyStore(operator, installation).read([code])).to.not.include(null);
  });

  it('finds nothing when emptied', async () => {
    const code = await sharedLink();
    await operator.flushall();
    expect(await two.status(code)).to.equal('active');
    expect(two.lookups).to.include({ hit: 0, miss: 1 });
  });

  it('never undoes a block, neither from an old dump nor from copies without an expiry', async () => {
    const code = await sharedLink();
    await operator.save();
    const dump = path.join(dataDir.path, 'dump.rdb');
    await copyFile(dump, `${dump}.old`);
    const old = (await operator.get(keyOf(code))) ?? '';
    expect(old).to.include('"status":"active"');
    await block(code);
    expect(await two.status(code)).to.equal('blocked');
    await two.laid(1);

    await server.stop();
    await copyFile(`${dump}.old`, dump);
    server = await startRedis({
      dataDir: dataDir.path,
      logger,
      dump: true,
      tied: true,
      port: portOf(server),
    });
    await Promise.all([one.redis, two.redis, operator].map(ready));
    expect(await operator.get(keyOf(code))).to.equal(old);
    for (const edge of [one, two]) {
      expect(await edge.status(code)).to.equal('blocked');
      await edge.laid(1);
    }
    expect(one.lookups.refused + two.lookups.refused).to.be.at.least(2);

    await operator.set(keyOf(code), old);
    expect(await two.status(code)).to.equal('blocked');
  });

  const portOf = ({ url }: RedisServer): number => Number(new URL(url).port);

  it('serves no copy but those that an edge has signed, for the code that it is found under', async () => {
    const [code, other] = [await sharedLink(), await sharedLink()];
    const genuine = (await operator.get(keyOf(code))) ?? '';
    const forged = (change: Record<string, unknown>): string =>
      genuine.replace(/\{.*/, (copy) => JSON.stringify({ ...JSON.parse(copy), ...change }));
    const texts = [
      // It would redirect the link, and outlive every block of it.
      forged({ sequence: Number.MAX_SAFE_INTEGER, location: 'https://attacker.example/' }),
      forged({ readAt: Date.now() + 60_000 }),
      forged({}).slice(genuine.indexOf('{')),
      await operator.get(keyOf(other)),
      `${genuine} `,
      ...['', 'garbage', '{}', 'é'.repeat(60), '\u0000'],
    ];
    for (const text of texts) {
      const { forged: known } = two.lookups;
      await operator.set(keyOf(code), text ?? '');
      expect((await two.links.read(code))?.location, text ?? '').to.equal(
        `https://example.com/${code}`,
      );
      expect(two.lookups.forged, text ?? '').to.equal(known + 1);
      await eventually('it was laid down again', async () => {
        return (await operator.get(keyOf(code))) !== text;
      });
    }
    await operator.del(keyOf(code));
    await operator.lpush(keyOf(code), 'a list');
    const { done } = two.writes;
    expect(await two.status(code)).to.equal('active');
    await two.laid(done + 1);
    expect(await operator.type(keyOf(code))).to.equal('string');
  });

  it('tells of forged copies once, not of each', async () => {
    const code = await sharedLink();
    warnings.length = 0;
    for (let round = 0; round < 3; round += 1) {
      await operator.set(keyOf(code), 'forged');
      const { done } = two.writes;
      await two.links.read(code);
      await two.laid(done + 1);
    }
    expect(two.lookups.forged).to.equal(3);
    expect(warnings.filter((line) => line.includes('no edge has signed'))).to.have.length(1);
  });

  describe('away', () => {
    const proxy = fixture(
      () => startTcpProxy(server.url),
      (proxy) => proxy.close(),
      { per: 'test' },
    );
    const far = fixture(
      () => makeEdge(proxy.url, 20),
      (far) => {
        far.stop();
      },
      { per: 'test' },
    );

    beforeEach(async () => {
      await ready(far.redis);
    });

    const circuitIs = (state: string): Promise<void> =>
      eventually(`the circuit is ${state}`, async () => {
        await far.status('nobody');
        return far.shared.circuit === state;
      });

    it('slow, is not waited for, then not asked, then tried again', async () => {
      const code = await sharedLink();
      proxy.mute();
      expect(await far.status(code)).to.equal('active');
      expect(far.lookups).to.include({ hit: 0, failed: 1 });
      await circuitIs('open');
      const { failed } = far.lookups;
      const asked = failed + far.lookups.unasked;
      for (let index = 0; index < 20; index += 1) expect(await far.status(code)).to.equal('active');
      expect(far.lookups.failed + far.lookups.unasked).to.equal(asked + 20);
      expect(far.lookups.unasked).to.be.above(0);
      expect(far.writes.done).to.equal(0);

      proxy.cut();
      await ready(far.redis);
      await circuitIs('closed');
      await eventually('it is used again', async () => {
        await far.status(code);
        return far.lookups.hit > 0;
      });
    });

    it('silent, gets a new connection', async () => {
      proxy.mute();
      const connection = far.redis.stream;
      await far.status('nobody');
      await eventually('it is given up', () => connection.destroyed);
      proxy.cut();
      await ready(far.redis);
    });

    it('killed, fails no visit, and is used again when it is back', async () => {
      const code = await sharedLink();
      const port = portOf(server);
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await circuitIs('open');
      expect(await far.status(code)).to.equal('active');
      await block(code);
      far.links.changed(code, 2);
      expect(await far.status(code)).to.equal('blocked');

      server = await startRedis({ dataDir: dataDir.path, logger, dump: true, tied: true, port });
      await Promise.all([far.redis, one.redis, operator].map(ready));
      await circuitIs('closed');
      expect(await far.status(code)).to.equal('blocked');
    });
  });
});
