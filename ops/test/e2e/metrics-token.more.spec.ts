import { expect } from 'chai';
import { sendRequest } from '../support/http.js';
import { productFixture } from './harness.js';

// A product of its own: METRICS_TOKEN is set. ops/http/metrics-access.unit.spec.ts has the rules.

const metricsToken = 'a-token-for-the-scraper';
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const unauthorized = {
  statusCode: 401,
  message: 'Metrics token required. Pass it as: Authorization: Bearer <METRICS_TOKEN>',
  error: 'Unauthorized',
};

describe('product: METRICS_TOKEN', () => {
  const bench = productFixture({ METRICS_TOKEN: metricsToken });

  it('opens GET /metrics, as the admin token does, and throttles wrong tokens', async () => {
    const { admin, adminToken } = bench.product;
    const metrics = (options = {}) =>
      sendRequest(`${admin}/metrics`, { localAddress: '127.0.0.41', ...options });
    expect((await metrics()).status).to.equal(401);
    expect((await metrics(bearer(metricsToken))).text).to.include('linklog_dependency_up');
    expect((await metrics(bearer(adminToken))).status).to.equal(200);
    const platform = await sendRequest(`${admin}/admin/platform`, bearer(metricsToken));
    expect(platform.status).to.equal(401);
    for (let guess = 0; guess < 10; guess += 1) {
      const response = await metrics(bearer(`wrong-${guess}`));
      expect([response.status, response.json()]).to.deep.equal([401, unauthorized]);
      expect(response.headers['www-authenticate']).to.equal('Bearer');
    }
    const refused = await metrics(bearer('wrong'));
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers['retry-after'])).to.be.within(1, 60);
    expect((await metrics(bearer(metricsToken))).status).to.equal(200);
  });
});
