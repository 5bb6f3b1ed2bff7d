import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { databaseFixture, folderFixture } from '../support/fixtures.js';
import { sendRequest, type HttpResponse } from '../support/http.js';
import { launch, mainFile, readyLine } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { Bench } from './harness.js';

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
    expect(response.headers['cache-control']).to.equal('no-store');
  }
  const refused = await metrics('wrong');
  expect(refused.status).to.equal(429);
  expect(Number(refused.headers['retry-after'])).to.be.within(1, 60);
  expect((await metrics(metricsToken)).status).to.equal(200);
};

describe('product: METRICS_TOKEN', function () {
  this.timeout(120_000);

  describe('of all services in one process', () => {
    const bench = new Bench();
    afterEach(() => bench.end());
    const start = async (env: Record<string, string>): Promise<void> => {
      bench.use(await startEmbeddedProduct({ env }));
    };
    const metrics = (options = {}): Promise<HttpResponse> =>
      sendRequest(`${bench.product.admin}/metrics`, options);

    it('opens GET /metrics, as the admin token does, and throttles wrong tokens', async () => {
      await start({ METRICS_TOKEN: metricsToken });
      expect((await metrics()).status).to.equal(401);
      expect((await metrics({ method: 'HEAD' })).status).to.equal(401);
      expect((await metrics({ method: 'POST' })).status).to.equal(405);
      expect((await metrics(bearer(metricsToken))).text).to.include('linklog_dependency_up');
      expect((await metrics(bearer(bench.product.adminToken))).status).to.equal(200);
      const admin = await sendRequest(`${bench.product.admin}/admin/platform`, {
        ...bearer(metricsToken),
      });
      expect(admin.status).to.equal(401);
      expect((await sendRequest(`${bench.product.admin}/health/ready`)).status).to.equal(200);
      await expectThrottled(bench.product.admin, '127.0.0.41');
    });

    it('is needed outside of loopback; without it, only the admin token opens GET /metrics', async () => {
      await start({ ADMIN_HOST: '0.0.0.0' });
      expect((await metrics()).status).to.equal(401);
      expect((await metrics(bearer(bench.product.adminToken))).status).to.equal(200);
    });
  });

  describe('of an edge in a process of its own', () => {
    const database = databaseFixture('metrics_token');
    const folder = folderFixture();
    const start = async (name: string, env: Record<string, string>) => {
      const dir = `${folder.path}/${name}`;
      const running = launch({ DATABASE_URL: database.url, DATA_DIR: dir, ...env }, [
        mainFile,
        'edge',
      ]);
      const { admin } = (await readyLine(running)) as { readonly admin: string };
      return {
        admin,
        stderr: running.stderr,
        async stop(): Promise<void> {
          running.child.kill('SIGTERM');
          await running.ended;
        },
      };
    };

    describe('with the token', () => {
      const edge = fixture(
        () => start('with', { ADMIN_HOST: '0.0.0.0', METRICS_TOKEN: metricsToken }),
        (edge) => edge.stop(),
      );

      it('opens GET /metrics, and throttles wrong tokens', async () => {
        expect((await sendRequest(`${edge.admin}/metrics`)).status).to.equal(401);
        const { status, text } = await sendRequest(`${edge.admin}/metrics`, bearer(metricsToken));
        expect([status, text.includes('linklog_spool_events')]).to.deep.equal([200, true]);
        expect(edge.stderr()).not.to.include('METRICS_TOKEN');
        await expectThrottled(edge.admin, '127.0.0.42');
      });
    });

    describe('without a token, outside of loopback', () => {
      const edge = fixture(
        () => start('without', { ADMIN_HOST: '0.0.0.0' }),
        (edge) => edge.stop(),
      );

      it('has no metrics, with a log line that names the variable', async () => {
        const response = await sendRequest(`${edge.admin}/metrics`, bearer(metricsToken));
        expect([response.status, response.json()]).to.deep.equal([
          403,
          {
            statusCode: 403,
            message:
              'METRICS_TOKEN is not set on this process. Without it, only loopback has metrics.',
            error: 'Forbidden',
          },
        ]);
        expect(edge.stderr()).to.include('METRICS_TOKEN is not set: GET /metrics responds 403');
        expect((await sendRequest(`${edge.admin}/health/ready`)).status).to.equal(200);
      });
    });
  });
});
