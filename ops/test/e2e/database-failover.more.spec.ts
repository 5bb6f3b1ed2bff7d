import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../support/fixture.js';
import { startPostgresServer, startStandby } from '../support/postgres-server.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, keyFixture, productFixture, timestampPattern } from './harness.js';

/** From the promotion to the next link. */
const recoveredWithinMs = 5_000;
const outageMs = 2_000;
const clients = 8;

describe('product: when its PostgreSQL fails over to a synchronous standby', () => {
  const primary = fixture(
    () => startPostgresServer(),
    (server) => server.stop(),
  );
  const standby = fixture(
    async () => {
      const started = await startStandby(primary);
      await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
      await primary.query('SELECT pg_reload_conf()');
      await eventually('the standby is synchronous', async () => {
        const rows = await primary.query<{ sync: string }>(
          'SELECT sync_state AS sync FROM pg_stat_replication',
        );
        return rows[0]?.sync === 'sync';
      });
      return started;
    },
    (server) => server.stop(),
  );
  const bench = productFixture(() => {
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    return {
      DATABASE_URL: `postgres://linklog:${primary.password}@${hosts}/postgres?target_session_attrs=read-write`,
    };
  });
  const pro = keyFixture(bench, 'PRO');

  it('follows it within 5 s, and loses no acknowledged link, click or visit', async function () {
    this.timeout(120_000);
    const { shortCode: visited } = await bench.link(pro.key);
    const { shortCode: limited } = await bench.link(pro.key, { maxClicks: 1_000_000 });
    expect((await bench.visit(visited)).status).to.equal(302);
    const created: string[] = [];
    const statuses = { post: [] as number[], visit: [302], limited: [] as number[] };
    let isOver = false;
    const repeat = async (request: () => Promise<void>): Promise<void> => {
      while (!isOver) {
        await request();
        await sleep(20);
      }
    };
    const load = Array.from({ length: clients }, () => [
      repeat(async () => {
        const response = await bench.shorten(pro.key, { url: destination });
        statuses.post.push(response.status);
        if (response.status === 201) {
          created.push((response.json() as { readonly shortCode: string }).shortCode);
        }
      }),
      repeat(async () => {
        statuses.visit.push((await bench.visit(visited)).status);
      }),
      repeat(async () => {
        statuses.limited.push((await bench.visit(limited)).status);
      }),
    ]).flat();
    await eventually('there is load', () => created.length > 50);

    await primary.kill();
    // As long as a manager of clusters may take.
    await sleep(outageMs);
    await standby.query('SELECT pg_promote()');
    const promotedAt = performance.now();
    const before = created.length;
    await eventually('a link is created', () => created.length > before, 30_000);
    const recoveredMs = performance.now() - promotedAt;
    expect(recoveredMs).to.be.below(recoveredWithinMs);
    await eventually('there is load again', () => created.length > before + 50);
    isOver = true;
    await Promise.all(load);

    expect([...new Set(statuses.post)].sort()).to.deep.equal([201, 503]);
    expect([...new Set(statuses.visit)]).to.deep.equal([302]);
    for (const code of created) {
      const response = await bench.api(`/v2/links/${code}`, pro.key);
      expect(response.status, code).to.equal(200);
    }
    await bench.expectClicks(visited, pro.key, statuses.visit.length);
    const clicks = statuses.limited.filter((status) => status === 302).length;
    await eventuallyPasses(async () => {
      const { clickCount, lastAccessed } = await bench.stats(limited, pro.key);
      // A visit that got 503 may have spent its click.
      expect(clickCount).to.be.within(clicks, statuses.limited.length);
      expect(lastAccessed).to.match(timestampPattern);
    });
    await eventuallyPasses(async () => {
      const { text } = await bench.admin('GET', '/health/ready');
      expect(text).to.include('"status":"pass"');
      expect(text).not.to.match(/"deadLetters":[1-9]/);
    });
  });
});
