import { expect } from 'chai';
import { runToEnd } from '../test/support/process.js';
import { startEmbeddedProduct } from '../test/support/product.js';
import { within } from '../test/support/waiting.js';
import { Bench } from '../test/e2e/harness.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';

describe('composition root: projectors in a thread', function () {
  this.timeout(60_000);
  const database = databaseFixture('projector_thread');
  const dataDir = folderFixture();
  const bench = new Bench();
  after(() => bench.product.cleanup());

  it('end the process on a permanent error, and fail the next start, with its message', async () => {
    const env = { DATABASE_URL: database.url };
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env }));
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await bench.expectClicks(shortCode, key, 1);
    await database.pool.query(
      "UPDATE projection_stats.checkpoints SET log_id = 'postgres:elsewhere'",
    );
    // After a gap, every reader reads its checkpoint again.
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'linklog listener'`,
    );
    const end = await within(30_000, 'The service still runs', bench.product.ended);
    expect(end.stderr).to.match(/"code":"FOREIGN_POSITION".*"the subscription ended"/);
    const restarted = await runToEnd({ DATA_DIR: dataDir.path, DATABASE_URL: database.url });
    for (const { exitCode, stderr } of [end, restarted]) {
      expect(stderr).to.match(
        /^linklog: The checkpoint of linklog\.visits\.v1\/\d belongs to log postgres:elsewhere/m,
      );
      expect(exitCode).to.equal(1);
    }
  });
});
