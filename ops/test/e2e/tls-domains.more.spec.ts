import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../../config/config.js';
import { codeIn } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { sendRequest } from '../support/http.js';
import { startCaddy } from '../support/proxies.js';
import { eventuallyPasses, rejection } from '../support/waiting.js';
import { destination, keyFixture, productFixture } from './harness.js';
import { needs } from '../support/needs.js';

const go = 'go.example.com';
const api = 'api.example.com';
/** The domain of the documents. */
const links = 'links.example.org';

describe('product: own domains behind the Caddy of ops/docs/tls.md', () => {
  needs('caddy', 'curl');
  const bench = productFixture({
    SHORT_URL_HOST: `https://${go}`,
    OWN_HOSTS: api,
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const pro = keyFixture(bench, 'PRO');
  const caddy = fixture(
    () => startCaddy(codeIn('tls.md', 'caddy'), bench.product),
    (proxy) => proxy.stop(),
  );

  const expectAsk = (domain: string, expected: number): Promise<void> =>
    eventuallyPasses(async () => {
      const { status } = await sendRequest(`${bench.product.admin}/tls/ask?domain=${domain}`);
      expect(status).to.equal(expected);
    });
  /** Adds an active domain, without DNS. */
  const add = async (domain: string): Promise<void> => {
    const added = await bench.admin('POST', '/admin/domains', { domain, account: 'default' });
    expect(added.status, added.text).to.equal(201);
    await expectAsk(domain, 200);
  };

  const hasCertificate = (host: string): boolean =>
    existsSync(path.join(caddy.dir, 'certificates', 'local', host));

  const expectNoCertificate = async (host: string): Promise<void> => {
    expect(String(await rejection(caddy.get(host, '/'))), host).to.include('alert internal error');
    expect(hasCertificate(host), host).to.equal(false);
  };

  it('gets a certificate during the first handshake of an active domain, and redirects its link', async () => {
    const domain = 'first.example.org';
    await add(domain);
    expect(hasCertificate(domain)).to.equal(false);
    const { shortUrl, shortCode } = await bench.link(pro.key, { domain });
    expect(shortUrl).to.equal(`https://${domain}/${shortCode}`);
    await eventuallyPasses(async () => {
      const visit = await caddy.get(domain, `/${shortCode}`);
      expect([visit.status, visit.headers.location]).to.deep.equal([302, destination]);
      expect(visit.headers['strict-transport-security']).to.equal('max-age=31536000');
    });
    expect(hasCertificate(domain)).to.equal(true);
    expect((await caddy.get(go, `/${shortCode}`)).status).to.equal(404);
  });

  it('gets no certificate for an unknown name, a pending claim or a released domain', async () => {
    await expectNoCertificate('unknown.example.org');
    const pending = 'pending.example.org';
    const claim = await bench.api('/v2/domains', pro.key, {
      method: 'POST',
      body: { domain: pending },
    });
    expect(claim.status, claim.text).to.equal(201);
    await expectNoCertificate(pending);
    const released = 'released.example.org';
    await add(released);
    expect((await bench.admin('DELETE', `/admin/domains/${released}`)).status).to.equal(200);
    await expectAsk(released, 404);
    await expectNoCertificate(released);
  });

  it('works with the commands of ops/docs/domains.md', async () => {
    // Instead of the two DNS records: both calls return an active domain.
    await add(links);
    await writeFile(path.join(caddy.dir, 'key-header'), `Authorization: Bearer ${pro.key}\n`);
    await writeFile(
      path.join(caddy.dir, '.curlrc'),
      `connect-to = "::127.0.0.1:${caddy.httpsPort}"\ncacert = "${caddy.caFile}"\nfail\nshow-error\n`,
    );
    const { stdout } = await promisify(execFile)('bash', ['-ec', codeIn('domains.md', 'sh')], {
      cwd: caddy.dir,
      env: { ...inheritedEnvironment(), CURL_HOME: caddy.dir },
    });
    const shortUrl = `https://${links}/hello`;
    expect(stdout).to.include('"status":"active"').and.to.include(`"shortUrl":"${shortUrl}"`);
    expect(stdout).to.match(/HTTP\/2 302 *\r\n(?:.+\r\n)*location: https:\/\/example\.com\/\r\n/);
  });
});
