import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import pino from 'pino';
import { createLogger } from '../../ops/platform/logging.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { openRedis } from '../../ops/app/connections.js';
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
import { needs } from '../../ops/test/support/needs.js';

const logger = createLogger('silent');
const installation = 'test';
const keyOf = (subject: string): string => `linklog:${installation}:link-v6:${subject}`;

/** A timeout that no test reaches, even on a busy machine. */
const patientMs = 10_000;

describe('redirect edge: shared cache in Redis', () => {
  needs('redis-server');
  const database = databaseFixture('shared');
  const node = ledgerFixture(database);
  const dataDir = folderFixture();
  let server: RedisServer;
  /** Another client of Redis. */
  let operator: Redis;
  const warnings: string[] = [];

  const startServer = async (port?: number): Promise<void> => {
    const options = { dataDir: dataDir.path, logger, tied: true, dump: true };
    server = await startRedis({ ...options, ...(port !== undefined && { port }) });
  };
  const portOf = ({ url }: RedisServer): number => Number(new URL(url).port);

  before(async () => {
    await startServer();
    operator = await openRedis(server.url, logger);
    await ready(operator);
  });

  after(async () => {
    operator.disconnect();
    await server.stop();
  });

  const ready = (redis: Redis): Promise<void> =>
    eventually('Redis is connected', () => redis.status === 'ready');

  /** An edge that has listened for the lifetime of copies. */
  const createEdge = async (url = server.url, timeoutMs = patientMs) => {
    let elapsedMs = 0;
    const now = (): number => performance.now() + elapsedMs;
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
    elapsedMs = copyLifeMs;
    const { lookups, writes } = shared;
    return {
      ...{ redis, links, shared, lookups, writes },
      /** The status, without the cache in memory. */
      async status(subject: string): Promise<string | null> {
        cache.delete(subject);
        return (await links.read(subject))?.status ?? null;
      },
      /** Waits until the edge has written copies to Redis. */
      written: (count: number): Promise<void> =>
        eventually('the copies are written', () => writes.done >= count),
      stop() {
        redis.disconnect();
      },
    };
  };
  type Edge = Awaited<ReturnType<typeof createEdge>>;

  const edgeFixture = (create: () => Promise<Edge>): Edge =>
    fixture(
      create,
      (edge) => {
        edge.stop();
      },
      { per: 'test' },
    );
  const [writer, reader] = [edgeFixture(() => createEdge()), edgeFixture(() => createEdge())];
  beforeEach(() => Promise.all([ready(writer.redis), ready(reader.redis)]));
  afterEach(() => operator.flushall());

  let links = 0;
  /** Creates a link whose copy is in Redis. */
  const sharedLink = async (): Promise<string> => {
    links += 1;
    const subject = `shared-${links}`;
    const { done } = writer.writes;
    await recordHistory(node, created(subject));
    expect(await writer.status(subject)).to.equal('active');
    await writer.written(done + 1);
    return subject;
  };

  const block = async (subject: string): Promise<void> => {
    await transaction(node.pool, (tx) => execute(tx, node.outbox.record([blocked(subject, 2)])));
    for (const { links } of [writer, reader]) links.changed(subject, 2);
  };

  it('serves a link to another edge without PostgreSQL', async () => {
    links += 1;
    const subject = `whole-${links}`;
    const expiresAt = '2099-01-01T00:00:00.000Z';
    const rules = [{ name: 'a', when: { os: ['iOS' as const] }, url: 'https://exämple.com/a' }];
    const data = { expiresAt, url: 'https://exämple.com/ä', rules, forwardQuery: true as const };
    await recordHistory(node, created(subject, data));
    const link = await writer.links.read(subject);
    await writer.written(1);
    expect(await reader.links.read(subject)).to.deep.equal(link);
    expect(reader.links.cached(subject)).to.deep.include(link);
    expect([reader.lookups.hit, reader.writes.done]).to.deep.equal([1, 0]);
    expect(await operator.pttl(keyOf(subject))).to.be.within(1, copyLifeMs);
  });

  it('reads the links of a tick together, with hits and misses', async () => {
    const known = await sharedLink();
    await recordHistory(node, created('tick-new'));
    const subjects = [known, 'tick-new', 'tick-none', known];
    const found = await Promise.all(subjects.map((subject) => reader.links.read(subject)));
    const codes = found.map((link) => link?.subject ?? null);
    expect(codes).to.deep.equal([known, 'tick-new', null, known]);
    expect(reader.lookups).to.include({ hit: 1, miss: 2 });
    await reader.written(1);
    expect(await operator.exists(keyOf('tick-none'))).to.equal(0);
  });

  it('does not contain links with a limit or a password', async () => {
    const passwordHash = '$argon2id$v=19$secret';
    const history = [created('limit', { maxClicks: 3 }), created('secret', { passwordHash })];
    await recordHistory(node, ...history, created('open'));
    await Promise.all(['limit', 'secret', 'open'].map((subject) => writer.links.read(subject)));
    await writer.written(1);
    expect(await operator.keys('*')).to.deep.equal([keyOf('open')]);
  });

  it('serves a block immediately, and shares it', async () => {
    const subject = await sharedLink();
    await block(subject);
    expect(await reader.status(subject)).to.equal('blocked');
    expect(reader.lookups).to.include({ hit: 0, refused: 1 });
    await reader.written(1);
    expect(await writer.status(subject)).to.equal('blocked');
    expect(writer.lookups.hit).to.equal(1);
  });

  it('never undoes a block, with an old dump or copies without an expiry', async () => {
    const subject = await sharedLink();
    await operator.save();
    const dump = path.join(dataDir.path, 'dump.rdb');
    await copyFile(dump, `${dump}.old`);
    const old = (await operator.get(keyOf(subject))) ?? '';
    expect(old).to.include('"status":"active"');
    await block(subject);
    expect(await reader.status(subject)).to.equal('blocked');
    await reader.written(1);

    const port = portOf(server);
    await server.stop();
    await copyFile(`${dump}.old`, dump);
    await startServer(port);
    await Promise.all([writer.redis, reader.redis, operator].map(ready));
    expect(await operator.get(keyOf(subject))).to.equal(old);
    for (const edge of [writer, reader]) {
      expect(await edge.status(subject)).to.equal('blocked');
      await edge.written(1);
    }
    expect(writer.lookups.refused + reader.lookups.refused).to.be.at.least(2);

    await operator.set(keyOf(subject), old);
    expect(await reader.status(subject)).to.equal('blocked');
  });

  it('serves only copies that an edge has signed for the subject', async () => {
    const [subject, other] = [await sharedLink(), await sharedLink()];
    warnings.length = 0;
    const genuine = (await operator.get(keyOf(subject))) ?? '';
    const forged = (change: Record<string, unknown>): string =>
      genuine.replace(/\{.*/, (copy) => JSON.stringify({ ...JSON.parse(copy), ...change }));
    const texts = [
      // If it were served, no block could replace it.
      forged({ sequence: Number.MAX_SAFE_INTEGER, location: 'https://attacker.example/' }),
      forged({ readAt: Date.now() + 60_000 }),
      forged({}).slice(genuine.indexOf('{')),
      await operator.get(keyOf(other)),
      `${genuine} `,
      ...['', 'garbage', '{}', 'é'.repeat(60), '\u0000'],
    ];
    for (const text of texts) {
      const { forged: known } = reader.lookups;
      await operator.set(keyOf(subject), text ?? '');
      expect((await reader.links.read(subject))?.location, text ?? '').to.equal(
        `https://example.com/${subject}`,
      );
      expect(reader.lookups.forged, text ?? '').to.equal(known + 1);
      await eventually('the copy is written again', async () => {
        return (await operator.get(keyOf(subject))) !== text;
      });
    }
    // At most one line in a minute.
    expect(warnings.filter((line) => line.includes('no edge has signed'))).to.have.length(1);
    await operator.del(keyOf(subject));
    await operator.lpush(keyOf(subject), 'a list');
    const { done } = reader.writes;
    expect(await reader.status(subject)).to.equal('active');
    await reader.written(done + 1);
    expect(await operator.type(keyOf(subject))).to.equal('string');
  });

  describe('that is unavailable', () => {
    const proxy = fixture(
      () => startTcpProxy(server.url),
      (proxy) => proxy.close(),
      { per: 'test' },
    );
    const far = edgeFixture(() => createEdge(proxy.url, 20));

    beforeEach(async () => {
      await ready(far.redis);
    });

    const circuitIs = (state: string): Promise<void> =>
      eventually(`the circuit is ${state}`, async () => {
        await far.status('none');
        return far.shared.circuit === state;
      });

    it('delays no visit if it is slow, and is used again later', async () => {
      const subject = await sharedLink();
      proxy.mute();
      expect(await far.status(subject)).to.equal('active');
      expect(far.lookups).to.include({ hit: 0, failed: 1 });
      await circuitIs('open');
      const { failed } = far.lookups;
      const before = failed + far.lookups.skipped;
      for (let index = 0; index < 20; index += 1)
        expect(await far.status(subject)).to.equal('active');
      expect(far.lookups.failed + far.lookups.skipped).to.equal(before + 20);
      expect(far.lookups.skipped).to.be.above(0);
      expect(far.writes.done).to.equal(0);

      proxy.cut();
      await ready(far.redis);
      await circuitIs('closed');
      await eventually('Redis is used again', async () => {
        await far.status(subject);
        return far.lookups.hit > 0;
      });
    });

    it('fails no visit if it is killed, and is used again after a restart', async () => {
      const subject = await sharedLink();
      const port = portOf(server);
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await circuitIs('open');
      expect(await far.status(subject)).to.equal('active');
      await block(subject);
      far.links.changed(subject, 2);
      expect(await far.status(subject)).to.equal('blocked');

      await startServer(port);
      await Promise.all([far.redis, writer.redis, operator].map(ready));
      await circuitIs('closed');
      expect(await far.status(subject)).to.equal('blocked');
    });
  });
});
