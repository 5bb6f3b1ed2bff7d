import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { databaseFixture } from '../support/fixtures.js';
import { startPooler } from '../support/pooler.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, keyFixture, productFixture } from './harness.js';

describe('product: through the PgBouncer of ops/docs/postgres.md', () => {
  const database = databaseFixture('pooler');
  const pooler = fixture(
    () => startPooler(database.url),
    async (pooler) => {
      await pooler.stop();
      // PostgreSQL drops no database in use, and may not have noticed the end of PgBouncer.
      await eventuallyPasses(async () => {
        const { rows } = await database.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name <> 'linklog test'`,
        );
        expect(rows).to.have.length(0);
      });
    },
    { needs: ['pgbouncer'] },
  );
  const bench = productFixture(() => ({ DATABASE_URL: pooler.url }));
  const pro = keyFixture(bench, 'PRO');

  it('creates links, redirects, counts, and applies a change immediately', async () => {
    const { shortCode } = await bench.link(pro.key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    const { shortCode: limited } = await bench.link(pro.key, { maxClicks: 1 });
    expect((await bench.visit(limited)).status).to.equal(302);
    expect((await bench.visit(limited)).status).to.equal(410);
    await bench.expectClicks(shortCode, pro.key, 1);
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'a test' });
    await eventually('it is blocked', async () => (await bench.visit(shortCode)).status === 410);
  });

  it('recovers when PgBouncer is killed and started again', async () => {
    const { shortCode } = await bench.link(pro.key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await pooler.restart();
    const headers = { 'Idempotency-Key': 'restarted' };
    await eventuallyPasses(async () => {
      const response = await bench.shorten(pro.key, { url: destination }, headers);
      expect(response.status, response.text).to.equal(201);
    });
    await bench.expectClicks(shortCode, pro.key, 1);
  });
});
