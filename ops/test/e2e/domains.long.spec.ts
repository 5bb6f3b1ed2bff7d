import { dnsServerFixture } from '../support/dns-server.js';
import { domainCalls } from './domains-harness.js';
import { productFixture } from './harness.js';

describe('redirect edge: domains, without PostgreSQL for a minute', () => {
  const dns = dnsServerFixture();
  const bench = productFixture(() => ({ DNS_SERVERS: dns.address }));
  const calls = domainCalls(bench, dns);

  it('are served, and GET /tls/ask responds', async () => {
    const { key } = await bench.key('PRO');
    const domain = await calls.activate(key);
    await calls.expectServedWithoutPostgres(domain, await bench.link(key, { domain }), 60_000);
  }).timeout(120_000);
});
