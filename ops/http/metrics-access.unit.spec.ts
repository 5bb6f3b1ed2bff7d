import { expect } from 'chai';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { createMetricsAccess } from './metrics-access.js';

const metricsToken = 'a-token-for-the-scraper';
const adminToken = 'a-token-of-an-operator';

describe('platform: access to GET /metrics', () => {
  const lines: string[] = [];
  const logger = pino(
    new Writable({
      write(chunk: Buffer, _, done) {
        lines.push(chunk.toString());
        done();
      },
    }),
  );
  beforeEach(() => {
    lines.length = 0;
  });

  const statusOf = (
    options: Partial<Parameters<typeof createMetricsAccess>[0]>,
    authorization?: string,
  ): number => {
    const defaults = { host: '127.0.0.1', metricsToken: null, adminToken: null };
    const check = createMetricsAccess({ ...defaults, ...options }, logger);
    const headers = authorization === undefined ? {} : { authorization };
    return check(headers)?.body.statusCode ?? 200;
  };

  it('is open on loopback without METRICS_TOKEN', () => {
    for (const host of ['127.0.0.1', '127.8.9.10', '::1', 'localhost']) {
      expect(statusOf({ host, adminToken }), host).to.equal(200);
    }
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'admin.internal', '127.evil.example']) {
      expect(statusOf({ host, adminToken }), host).to.equal(401);
    }
    expect(lines).to.deep.equal([]);
  });

  it('needs the metrics token or the admin token everywhere if METRICS_TOKEN is set', () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const options = { host, metricsToken, adminToken };
      expect(statusOf(options)).to.equal(401);
      expect(statusOf(options, `Bearer ${metricsToken}`)).to.equal(200);
      expect(statusOf(options, `Bearer ${adminToken}`)).to.equal(200);
      expect(statusOf(options, `Bearer ${metricsToken}x`)).to.equal(401);
      expect(statusOf(options, `Basic ${metricsToken}`)).to.equal(401);
    }
    expect(statusOf({ metricsToken }, `Bearer ${adminToken}`)).to.equal(401);
  });

  it('counts only wrong tokens as guesses', () => {
    const check = createMetricsAccess({ host: '::', metricsToken, adminToken: null }, logger);
    expect(check({})?.isGuess).to.equal(false);
    expect(check({ authorization: 'Bearer wrong' })?.isGuess).to.equal(true);
  });

  it('is closed outside of loopback without any token, with a log line that names METRICS_TOKEN', () => {
    expect(statusOf({ host: '0.0.0.0' }, `Bearer ${metricsToken}`)).to.equal(403);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include('METRICS_TOKEN is not set').and.include('"level":40');
  });
});
