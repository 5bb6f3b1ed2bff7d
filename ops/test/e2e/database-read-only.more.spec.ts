import { expect } from 'chai';
import pg from 'pg';
import { sendRequest } from '../support/http.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { keyFixture, productFixture, destination, expectRefused } from './harness.js';
import { fixture } from '../support/fixture.js';
import { databaseFixture } from '../support/fixtures.js';

const unavailable = 'Service is temporarily unavailable';

interface Report {
  readonly status: string;
  readonly dependencies: Readonly<Record<string, object>>;
  readonly projections: readonly { readonly name: string; readonly deadLetters: number }[];
}

describe('product: while PostgreSQL is read-only', function () {
  this.timeout(120_000);
  const database = databaseFixture('readonly');
  const operator = fixture(
    async () => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      return client;
    },
    (operator) => operator.end(),
  );
  const bench = productFixture(() => ({ DATABASE_URL: database.url }));
  const pro = keyFixture(bench, 'PRO');

  /** As a provider does when the disk is full; sessions use the setting of their start. */
  const setReadOnly = async (state: 'on' | 'off', { terminate = true } = {}): Promise<void> => {
    const name = pg.escapeIdentifier(new URL(database.url).pathname.slice(1));
    await operator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${state}`);
    if (!terminate) return;
    await operator.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
  };

  const report = async (): Promise<Report & { readonly httpStatus: number }> => {
    const response = await sendRequest(`${bench.product.admin}/health/ready`);
    return { ...(response.json() as Report), httpStatus: response.status };
  };

  it('responds with 503 to writes, redirects cached links, and recovers without a restart', async () => {
    const { shortCode } = await bench.link(pro.key);
    const { shortCode: limited } = await bench.link(pro.key, { maxClicks: 3 });
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await setReadOnly('on');

    await eventually('readiness fails', async () => (await report()).httpStatus === 503);
    await eventuallyPasses(async () => {
      expect((await report()).dependencies['postgres']).to.deep.equal({
        state: 'down',
        code: '25006',
        detail: 'postgres is read-only',
      });
    });
    for (const body of [{ url: destination }, { url: destination, alias: 'read-only' }]) {
      const response = await bench.shorten(pro.key, body);
      expectRefused(response, 503, unavailable);
      expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
    }
    expect((await bench.api('/v2/usage', pro.key)).status, 'admission writes').to.equal(503);
    const blocked = await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'no' });
    expect(blocked.status, blocked.text).to.equal(503);
    expect((await bench.visit(limited)).status, 'a click of a limited link').to.equal(503);
    for (let visit = 0; visit < 20; visit += 1) {
      expect((await bench.visit(shortCode)).status).to.equal(302);
    }

    // Sessions that started read-only stay read-only and must be replaced.
    await setReadOnly('off', { terminate: false });
    // A request that gets 503 may still take effect.
    const headers = { 'Idempotency-Key': 'read-only' };
    await eventuallyPasses(async () => {
      const body = { url: destination, alias: 'read-only' };
      const response = await bench.shorten(pro.key, body, headers);
      expect(response.status, response.text).to.equal(201);
    }, 30_000);
    await eventually('readiness passes', async () => (await report()).httpStatus === 200);
    await eventuallyPasses(async () => {
      expect((await bench.stats(shortCode, pro.key)).clickCount).to.equal(21);
      const { projections } = await report();
      expect(projections.map(({ deadLetters }) => deadLetters)).to.deep.equal(
        projections.map(() => 0),
      );
    }, 30_000);
    // Each read-only session causes one 503 before it is replaced; that click is not spent.
    const statuses: number[] = [];
    await eventually('the limited link is used up', async () => {
      const { status } = await bench.visit(limited);
      if (status !== 503) statuses.push(status);
      return status === 410;
    });
    expect(statuses).to.deep.equal([302, 302, 302, 410]);
  });
});
