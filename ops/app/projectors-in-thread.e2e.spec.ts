import { expect } from 'chai';
import { runToEnd, type EndedProcess } from '../test/support/process.js';
import { startEmbeddedProduct } from '../test/support/product.js';
import { eventually, within } from '../test/support/waiting.js';
import { Bench } from '../test/e2e/harness.js';
import { databaseFixture, folderFixture } from '../test/support/fixtures.js';

const foreignCheckpoints = "UPDATE projection_stats.checkpoints SET log_id = 'postgres:elsewhere'";
const message =
  /^linklog: The checkpoint of linklog\.visits\.v1\/\d belongs to log postgres:elsewhere/m;

describe('composition root: projectors in a thread', function () {
  this.timeout(60_000);
  const bench = new Bench();
  const database = databaseFixture('projector_thread', { per: 'test' });
  const dataDir = folderFixture({ per: 'test' });

  beforeEach(async () => {
    const env = { DATABASE_URL: database.url };
    bench.use(await startEmbeddedProduct({ dataDir: dataDir.path, env }));
  });
  afterEach(async () => {
    await bench.product.cleanup();
  });

  const visitOnce = async (): Promise<void> => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await eventually('the visit is counted', async () => {
      return (await bench.stats(shortCode, key)).clickCount === 1;
    });
  };

  const expectForeign = ({ exitCode, stderr }: EndedProcess): void => {
    expect(stderr).to.match(message);
    expect(exitCode).to.equal(1);
  };

  it('end the process on a permanent error, with its message', async () => {
    await visitOnce();
    await database.pool.query(foreignCheckpoints);
    // After a gap, every reader reads its checkpoint again.
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'linklog listener'`,
    );
    const end = await within(30_000, 'The service still runs', bench.product.ended);
    expectForeign(end);
    expect(end.stderr).to.match(/"code":"FOREIGN_POSITION".*"the subscription ended"/);
  });

  it('fail the start with the same message', async () => {
    await visitOnce();
    await bench.product.stop();
    await database.pool.query(foreignCheckpoints);
    expectForeign(await runToEnd({ DATA_DIR: dataDir.path, DATABASE_URL: database.url }));
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
    bench.use(
      await startEmbeddedProduct({ dataDir: dataDir.path, env: { DATABASE_URL: database.url } }),
    );
    await eventually('all visits are counted', async () => {
      return (await bench.stats(shortCode, key)).clickCount >= redirects;
    });
  });
});
