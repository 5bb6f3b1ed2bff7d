import { expect } from 'chai';
import { runToEnd } from '../test/support/process.js';
import { startEmbeddedProduct } from '../test/support/product.js';
import { eventually, within } from '../test/support/waiting.js';
import { Bench } from '../test/e2e/harness.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';

describe('composition root: projectors in a thread', function () {
  this.timeout(60_000);
  const bench = new Bench();
  const database = databaseFixture('projector_thread', { per: 'test' });
  const dataDir = folderFixture({ per: 'test' });

  const start = async (): Promise<void> => {
    const env = { DATABASE_URL: database.url };
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env }));
  };

  beforeEach(start);
  afterEach(async () => {
    await bench.product.cleanup();
  });

  it('end the process on a permanent error, and fail the next start, with its message', async () => {
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

  it('apply all visits of a process that was stopped under load', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    let redirects = 0;
    const visitUntilRefused = async (): Promise<void> => {
      for (;;) {
        const status = await bench.visit(shortCode).then(
          (response) => response.status,
          () => null,
        );
        if (status !== 302) return;
        redirects += 1;
      }
    };
    const visitors = Array.from({ length: 32 }, visitUntilRefused);
    await eventually('1,000 visits are redirected', () => redirects > 1_000);
    const { stderr } = await bench.product.stop();
    await Promise.all(visitors);
    expect(stderr).not.to.match(/"level":(50|60)/);
    await start();
    await eventually('all visits are counted', async () => {
      return (await bench.stats(shortCode, key)).clickCount >= redirects;
    });
  });
});
