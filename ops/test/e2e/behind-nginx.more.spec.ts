import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../../config/config.js';
import { codeIn } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { sendRequest } from '../support/http.js';
import { nginxPrograms, startNginx, type Received } from '../support/proxies.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, keyFixture, productFixture, type Link } from './harness.js';
import { needs } from '../support/needs.js';

const go = 'go.example.com';
const api = 'api.example.com';

/** The domain of domains.md. */
const links = 'links.example.org';

const configuration = codeIn('tls.md', 'nginx') + codeIn('domains.md', 'nginx');

describe('product: behind the nginx of ops/docs/tls.md', () => {
  needs(...nginxPrograms, 'curl');
  const bench = productFixture({
    SHORT_URL_HOST: `https://${go}`,
    OWN_HOSTS: api,
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const nginx = fixture(
    () => startNginx(configuration, [go, api, links], bench.product),
    (nginx) => nginx.stop(),
  );
  const pro = keyFixture(bench, 'PRO');

  const shorten = (body: object): Promise<Received> =>
    nginx.get(api, '/v2/shorten', {
      method: 'POST',
      headers: { Authorization: `Bearer ${pro.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });

  const createLink = async (body: object): Promise<Link> => {
    const response = await shorten(body);
    expect(response.status, response.body).to.equal(201);
    return JSON.parse(response.body) as Link;
  };

  it('creates short URLs with https, and redirects them', async () => {
    const url = 'https://example.com/%2e%2e/a//b?c=%20d';
    const { shortUrl, shortCode } = await createLink({ url });
    expect(shortUrl).to.equal(`https://${go}/${shortCode}`);
    const visit = await nginx.get(go, `/${shortCode}`);
    expect([visit.status, visit.headers.location]).to.deep.equal([302, url]);
  });

  it('throttles each client by its own address, whatever its X-Forwarded-For', async () => {
    const { shortCode } = await createLink({
      url: 'https://example.com/',
      password: 'open sesame',
    });
    const guess = (password: string, from: string, claimed?: string): Promise<Received> =>
      nginx.get(go, `/${shortCode}`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          ...(claimed !== undefined && { 'X-Forwarded-For': claimed }),
        },
        body: new URLSearchParams({ password }).toString(),
        from,
      });
    const guesser = '127.0.0.11';
    for (let attempts = 0; attempts < 5; attempts += 1) {
      expect((await guess('wrong', guesser, `203.0.113.${attempts}`)).status).to.equal(401);
    }
    expect((await guess('open sesame', guesser, '203.0.113.99')).status).to.equal(429);
    expect((await guess('open sesame', guesser, '127.0.0.1')).status).to.equal(429);
    expect((await guess('open sesame', '127.0.0.12', guesser)).status).to.equal(303);
  });

  it('does not expose the admin listener, even with the right token', async () => {
    const headers = { Authorization: `Bearer ${bench.product.adminToken}` };
    for (const host of [go, api]) {
      for (const target of ['/admin/keys', '/admin/platform', '/metrics']) {
        const { status } = await nginx.get(host, target, { headers });
        expect(status, host + target).to.equal(404);
      }
    }
  });

  it('redirects a link of an own domain over https, and serves the challenges of certbot', async () => {
    const domain = { domain: links, account: 'default' };
    expect((await bench.admin('POST', '/admin/domains', domain)).status).to.equal(201);
    const { shortCode } = await bench.link(pro.key, { domain: links });
    await eventuallyPasses(async () => {
      const visit = await nginx.get(links, `/${shortCode}`);
      expect([visit.status, visit.headers.location]).to.deep.equal([302, destination]);
    });
    expect((await nginx.get(go, `/${shortCode}`)).status).to.equal(404);
    const at = '/.well-known/acme-challenge/token';
    await mkdir(path.dirname(path.join(nginx.webRoot, at)), { recursive: true });
    await writeFile(path.join(nginx.webRoot, at), 'proof');
    const response = await sendRequest(nginx.http + at, { headers: { Host: links } });
    expect(response.text).to.equal('proof');
  });

  it('responds to the commands of the document as it says', async () => {
    await createLink({ url: 'https://example.com/', alias: 'hello' });
    const { port } = new URL(nginx.http);
    const options = [
      `connect-to = ":80:127.0.0.1:${port}"`,
      `connect-to = ":443:127.0.0.1:${nginx.httpsPort}"`,
      `cacert = "${nginx.certificate}"`,
    ];
    await writeFile(path.join(nginx.dir, '.curlrc'), options.join('\n'));
    const { stdout } = await promisify(execFile)('bash', ['-ec', codeIn('tls.md', 'sh', 'Check')], {
      env: { ...inheritedEnvironment(), CURL_HOME: nginx.dir },
    });
    const [redirected = '', visit = '', admin = ''] = stdout.split(/(?<=\r\n)\r\n/);
    expect(redirected).to.match(/^HTTP\/1.1 308 /);
    expect(redirected).to.include(`\r\nLocation: https://${go}/hello\r\n`);
    expect(visit).to.match(/^HTTP\/1.1 302 /);
    expect(visit).to.match(/^strict-transport-security: max-age=31536000\r$/im);
    expect(admin).to.match(/^HTTP\/1.1 404 /);
  });
});
