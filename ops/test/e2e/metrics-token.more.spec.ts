import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { databaseFixture, folderFixture } from '../support/fixtures.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { launch, mainFile, readyLine } from '../support/process.js';
import { productFixture } from './harness.js';

// Products of their own: METRICS_TOKEN is set. ops/http/metrics-access.unit.spec.ts has the rules.

const metricsToken = 'a-token-for-the-scraper';
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const unauthorized = {
  statusCode: 401,
  message: 'Metrics token required. Pass it as: Authorization: Bearer <METRICS_TOKEN>',
  error: 'Unauthorized',
};

/** After ten wrong tokens, an address gets 429; the right token is accepted. */
const expectThrottled = async (admin: string, localAddress: string): Promise<void> => {
  const metrics = (token: string): Promise<HttpResponse> =>
    sendRequest(`${admin}/metrics`, { ...bearer(token), localAddress });
  for (let guess = 0; guess < 10; guess += 1) {
    const response = await metrics(`wrong-${guess}`);
    expect([response.status, response.json()]).to.deep.equal([401, unauthorized]);
    expect(response.headers['www-authenticate']).to.equal('Bearer');
  }
  const refused = await metrics('wrong');
  expect(refused.status).to.equal(429);
  expect(Number(refused.headers['retry-after'])).to.be.within(1, 60);
  expect((await metrics(metricsToken)).status).to.equal(200);
};

describe('product: METRICS_TOKEN', function () {
  this.timeout(120_000);

  describe('of all services in one process', () => {
    const bench = productFixture({ METRICS_TOKEN: metricsToken });

    it('opens GET /metrics, as the admin token does, and throttles wrong tokens', async () => {
      const { admin, adminToken } = bench.product;
      const metrics = (options = {}) => sendRequest(`${admin}/metrics`, options);
      expect((await metrics()).status).to.equal(401);
      expect((await metrics(bearer(metricsToken))).text).to.include('linklog_dependency_up');
      expect((await metrics(bearer(adminToken))).status).to.equal(200);
      const platform = await sendRequest(`${admin}/admin/platform`, bearer(metricsToken));
      expect(platform.status).to.equal(401);
      await expectThrottled(admin, '127.0.0.41');
    });
  });

  describe('of an edge in a process of its own', () => {
    const database = databaseFixture('metrics_token');
    const folder = folderFixture();
    const edge = fixture(
      async () => {
        const env = { DATABASE_URL: database.url, DATA_DIR: folder.path, ADMIN_HOST: '0.0.0.0' };
        const running = launch({ ...env, METRICS_TOKEN: metricsToken }, [mainFile, 'edge']);
        const { admin } = (await readyLine(running)) as { readonly admin: string };
        return { admin, running };
      },
      async ({ running }) => {
        running.child.kill('SIGTERM');
        await running.ended;
      },
    );

    it('opens GET /metrics, and throttles wrong tokens', async () => {
      expect((await sendRequest(`${edge.admin}/metrics`)).status).to.equal(401);
      const { status, text } = await sendRequest(`${edge.admin}/metrics`, bearer(metricsToken));
      expect([status, text.includes('linklog_spool_events')]).to.deep.equal([200, true]);
      await expectThrottled(edge.admin, '127.0.0.42');
    });
  });
});
