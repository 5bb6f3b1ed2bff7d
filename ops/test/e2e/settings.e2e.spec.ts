import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messages } from '../../../schemas/http/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import { startLinklogCli } from '../support/process.js';
import { connectTo } from '../support/raw-http.js';
import { folderFixture } from '../support/fixtures.js';
import { waitUntilProjected } from '../support/projected.js';
import { eventuallyPasses } from '../support/waiting.js';
import { dnsServerFixture } from '../support/dns-server.js';
import { sendRequest } from '../support/http.js';
import { receiverFixture } from '../support/receiver.js';
import { domainCalls } from './domains-harness.js';
import {
  destination,
  expectEnvelope,
  expectError,
  expectRefused,
  keyFixture,
  productFixture,
} from './harness.js';
import { webhookCalls } from './webhooks-harness.js';

const root = 'https://www.example.com/home';
const unsafe = 'URL appears to be unsafe and cannot be shortened';
const toNotFound = 'https://example.com/default?not=found';
const toExpired = 'https://example.com/default-expired';
const html = { Accept: 'text/html' };

// One product for the settings that the shared product has not: it has a console, other CORS origins, no public host,
// and webhooks to loopback.
describe('product: with other settings', () => {
  const dns = dnsServerFixture();
  const receiver = receiverFixture();
  const folder = folderFixture();
  const blocklist = (): string => path.join(folder.path, 'blocklist.txt');
  const bench = productFixture(async () => {
    await writeFile(blocklist(), '# ours\nblocked.example\n');
    return {
      ...{ CONSOLE: '0', MCP: '0', CORS_ORIGINS: '*', FIRST_KEY: 'none', LOG_LEVEL: 'trace' },
      ...{ DNS_SERVERS: dns.address, BLOCKLIST_FILE: blocklist(), ROOT_REDIRECT: root },
      ...{ NOT_FOUND_REDIRECT: toNotFound, EXPIRED_REDIRECT: toExpired },
      SHORT_URL_HOST: 'https://short.own.example/',
      OWN_HOSTS: 'go.own.example:8443,www.own.example',
      DESTINATION_SCHEMES: 'mailto, tel, MyApp',
      CODE_LENGTH: '5',
      ADMIN_HOSTS: 'ops.example.com,command-api-1:8082,admin.own.example',
    };
  });
  const calls = domainCalls(bench, dns);
  const webhooks = webhookCalls(bench);
  const pro = keyFixture(bench, 'PRO');

  it('FIRST_KEY=none creates no key, and prints none', async () => {
    const { stdout, stderr, ready } = bench.product;
    expect(ready).not.to.have.property('firstKey');
    expect(stdout() + stderr()).not.to.match(/ll_[0-9A-Za-z]{38}/);
    expect((await bench.admin('GET', '/admin/keys')).text).to.not.include('first-key');
  });

  it('FIRST_KEY=none gets a key with the command of containers.md, and does not log it', async () => {
    const page = readFileSync(projectFile('ops', 'docs', 'containers.md'), 'utf8');
    const command = /exec command-api-1 linklog (keys .+)/.exec(page);
    const { dataDir, stdout, stderr } = bench.product;
    const args = (command?.[1] ?? '').split(' ');
    const said = await startLinklogCli([...args, '--json'], { DATA_DIR: dataDir }).ended;
    expect(said).to.include({ exitCode: 0, stderr: '' });
    const { key } = JSON.parse(said.stdout) as { key: string };
    expect((await bench.api('/v2/usage', key)).status).to.equal(200);
    expect(stdout() + stderr()).not.to.include(key);
  });

  it('DESTINATION_SCHEMES permits destinations that only redirect', async () => {
    // An own host is one of web destinations only.
    const same = ['TEL:+49123', 'myapp://open/x\\y@z', 'myapp://short.own.example/abc'];
    const urls = ['mailto:a@example.com?subject=ä', ...same];
    const locations = ['mailto:a@example.com?subject=%C3%A4', ...same];
    for (const [index, url] of urls.entries()) {
      const { shortCode } = await bench.link(pro.key, { url });
      const visit = await bench.visit(shortCode);
      expect([visit.status, visit.headers.location]).to.deep.equal([302, locations[index]]);
      const preview = await bench.visit(`${shortCode}+`);
      expect(preview.text)
        .to.include(`<dd>${locations[index] ?? ''}</dd>`)
        .and.not.to.include('<a ');
    }
    const rules = [{ name: 'all', when: {}, url: 'myapp://rule' }];
    const conflict = 'Only http and https destinations can have forwardQuery or forwardPath';
    for (const body of [
      { url: 'mailto:a@b', forwardQuery: true },
      { url: 'mailto:a@b', forwardPath: true },
      { url: destination, rules, forwardPath: true },
    ]) {
      expectRefused(await bench.shorten(pro.key, body), 400, conflict);
    }
    // The document of a default installation permits no other schemes.
    const { text } = await sendRequest(`${bench.product.api}/openapi.json`);
    expect(text).to.include('|^(?:mailto|tel|myapp):');
    const ruled = { shortCode: 'ruled-by-scheme' };
    await sendRequest(`${bench.product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${pro.key}` },
      body: { url: destination, alias: ruled.shortCode, rules },
    });
    const changed = await bench.change(ruled.shortCode, pro.key, { forwardQuery: true });
    expect(changed.json()).to.include({ statusCode: 400, message: conflict });
    for (const [url, reason] of [
      ['sms:+49123', 'scheme'],
      ['javascript:alert(1)', 'scheme'],
      ['mailto:', 'host'],
      ['mailto:a@b\r\nX: y', 'whitespace'],
      [`mailto:${'x'.repeat(2_048)}`, null],
    ] as const) {
      const refused = await bench.shorten(pro.key, { url });
      expect(refused.status).to.equal(400);
      if (reason) expect(refused.json()).to.include({ reason });
    }
    const secured = await bench.link(pro.key, { url: 'myapp://a', password: 'a password' });
    const form = await bench.visit(secured.shortCode, { headers: html });
    expect(form.headers['content-security-policy']).to.include(
      "form-action 'self' http: https: mailto: tel: myapp:;",
    );
  });

  it('CODE_LENGTH is the length of generated codes', async () => {
    const urls = [{ url: destination }, { url: destination }];
    const batch = await bench.api('/v2/shorten/batch', pro.key, { method: 'POST', body: { urls } });
    const { results } = batch.json() as { readonly results: readonly { shortCode: string }[] };
    const created = await bench.admin('POST', '/admin/links', { url: destination });
    const codes = [...results, await bench.link(pro.key), created.json() as { shortCode: string }];
    for (const { shortCode } of codes) expect(shortCode).to.match(/^[0-9A-Za-z]{5}$/);
  });

  it('ROOT_REDIRECT redirects from the root', async () => {
    const { status, headers } = await bench.visit('');
    expect([status, headers.location]).to.deep.equal([302, root]);
    expect(headers['cache-control']).to.match(/no-store/);
  });

  it('ADMIN_HOSTS accepts its names, addresses and localhost; others get 421 (DNS rebinding)', async () => {
    const { admin, adminToken } = bench.product;
    const ask = (path: string, Host: string) =>
      sendRequest(admin + path, { headers: { Host, Authorization: `Bearer ${adminToken}` } });
    for (const host of [
      ...['evil.example', 'evil.example:8082', 'localhost.evil.example', 'a b', 'evil#localhost'],
      ...['127.0.0.1.evil.example', 'notops.example.com', 'a.ops.example.com'],
    ]) {
      for (const path of ['/health', '/metrics', '/admin/platform']) {
        expectError(await ask(path, host), {
          status: 421,
          message: 'This listener answers to addresses, localhost and the names in ADMIN_HOSTS',
          path,
        });
      }
    }
    for (const host of [
      ...['10.0.0.1:1', '[::1]:8082', 'LOCALHOST:8082', 'OPS.example.com.:443', 'command-api-1'],
    ]) {
      expect((await ask('/admin/platform', host)).status, host).to.equal(200);
    }
    const connection = await connectTo(admin);
    connection.socket.write('GET /metrics HTTP/1.0\r\n\r\n');
    await connection.closed(10_000);
    expect(connection.received()).to.match(/^HTTP\/1\.1 421 /);
  });

  it('BLOCKLIST_FILE blocks live links on a new list, also those of rules', async () => {
    const { key } = await bench.key('PRO');
    const bad = 'https://attacked-later.example/login';
    const rules = [{ name: 'bad', when: { os: ['iOS'] }, url: bad }];
    const { shortCode: code } = await bench.link(key, { url: bad });
    const { shortCode: ruled } = await bench.link(key, { rules });
    const { shortCode: other } = await bench.link(key);
    const expectStatus = (code: string, status: number): Promise<void> =>
      eventuallyPasses(async () => {
        expect((await bench.visit(code)).status).to.equal(status);
      });
    await expectStatus(code, 302);
    // The scan of a new list reads projected links; later ones are found at an age of one minute.
    await waitUntilProjected(bench.product.edges);
    await writeFile(blocklist(), 'attacked-later.example\n');
    await expectStatus(code, 410);
    await expectStatus(ruled, 410);
    await expectStatus(other, 302);
    expectRefused(await bench.shorten(key, { url: bad }), 400, unsafe);
    const { events } = (await bench.admin('GET', `/admin/links/${code}/history`)).json() as {
      readonly events: readonly object[];
    };
    expect(events.at(-1)).to.deep.include({
      ...{ type: 'linklog.LinkBlocked.v1', actor: 'web-safety' },
      data: { reason: 'The destination is on the blocklist' },
    });
  });

  it('has no console with CONSOLE=0, and no address or link of it', async () => {
    const { api, admin, ready } = bench.product;
    for (const listener of [api, admin]) {
      for (const at of ['', '/session', '/v2/usage', '/admin/platform']) {
        for (const method of ['GET', 'POST']) {
          const options = { method, headers: { Origin: listener } };
          const response = await sendRequest(`${listener}/console${at}`, options);
          const error = { status: 404, message: 'Not Found', path: `/console${at}`, method };
          expectEnvelope(response, error);
        }
      }
    }
    for (const at of ['/docs', '/docs/events']) {
      const page = await sendRequest(api + at);
      expect(page.text, at)
        .to.include('asyncapi.json')
        .but.not.match(/href="[^"]*console|data-address/);
    }
    expect(ready).not.to.have.property('console');
    expect((await bench.admin('POST', '/admin/console', {})).status).to.equal(404);
  });

  it('MCP=0 removes the endpoint of agents', async () => {
    const response = await sendRequest(`${bench.product.api}/mcp`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${pro.key}` },
      body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    });
    expect(response.status).to.equal(404);
  });

  it('allows any origin with CORS_ORIGINS=*, without Vary', async () => {
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' };
    const url = `${bench.product.api}/v2/shorten`;
    const preflight = await sendRequest(url, { method: 'OPTIONS', headers });
    expect(preflight.status).to.equal(204);
    for (const response of [preflight, await bench.api('/v2/usage', null, { headers })]) {
      expect(response.headers).to.include({ 'access-control-allow-origin': '*' });
      expect(response.headers).not.to.have.property('vary');
    }
  });

  describe('of its hosts', () => {
    it('has short URLs of SHORT_URL_HOST, and of domains with its scheme', async () => {
      const domain = await calls.activate(pro.key);
      for (const [body, host] of [
        [{}, 'short.own.example'],
        [{ domain }, domain],
      ] as const) {
        const { shortUrl, shortCode } = await bench.link(pro.key, body);
        expect(shortUrl).to.equal(`https://${host}/${shortCode}`);
      }
      for (const admin of bench.product.admins) {
        for (const [name, status] of [
          ['SHORT.own.example', 200],
          ['localhost', 404],
        ] as const) {
          const response = await sendRequest(`${admin}/tls/ask?domain=${name}`);
          expect(response.status, name).to.equal(status);
        }
      }
    });

    it('takes the host of SHORT_URL_HOST as domain for the default domain', async () => {
      const { key } = await bench.key('PRO', { account: 'by-host' });
      const domain = 'SHORT.own.example.';
      const own = await calls.activate(key);
      await bench.link(key, { domain: own, alias: 'elsewhere' });
      expect(await bench.link(key, { domain, alias: 'by-host' })).to.not.have.property('domain');
      const batch = { urls: [{ url: destination, domain, alias: 'by-batch' }] };
      const created = await bench.api('/v2/shorten/batch', key, { method: 'POST', body: batch });
      expect(created.text).to.include('"success":true');
      for (const path of ['links', 'stats', 'qr']) {
        const found = await bench.api(`/v2/${path}/by-host?domain=${domain}`, key);
        expect(found.status, path).to.equal(200);
      }
      const bulk = (...shortCodes: readonly string[]) =>
        bench.api('/v2/links/bulk', key, {
          ...{ method: 'POST', body: { shortCodes, change: { addTags: ['a'] } } },
        });
      expect((await bulk('short.own.example/by-host')).text).to.include('"success":true');
      expect((await bulk('short.own.example/by-host', 'by-host')).status).to.equal(400);
      const csv = 'shortCode,url,domain\nby-import,https://example.com/,short.own.example\n';
      const imported = await bench.api(`/v2/imports?domain=${domain}`, key, {
        ...{ method: 'POST', headers: { 'Content-Type': 'text/csv' }, body: csv },
      });
      expect(imported.status, imported.text).to.equal(202);
      await eventuallyPasses(async () => {
        const page = await bench.api(`/v2/links?domain=${domain}&limit=100`, key);
        const { links } = page.json() as { links: readonly { readonly shortCode: string }[] };
        expect(links.map(({ shortCode }) => shortCode)).to.have.members([
          ...['by-host', 'by-batch', 'by-import'],
        ]);
      });
      const exported = await bench.api(`/v2/export?domain=${domain}`, key);
      expect(exported.text.trim().split('\n')).to.have.length(3);
    });

    it('takes it as a filter of events, webhooks and statistics', async () => {
      const { key } = await bench.key('PRO', { account: 'filters-by-host' });
      const domain = 'SHORT.own.example.';
      const filter = `domain=${domain}`;
      await bench.link(key, { alias: 'filter-by-host' });
      const stats = await bench.api(`/v2/stats?${filter}`, key);
      expect(stats.json()).to.include({ linkCount: 1 });
      await bench.link(key, { domain: await calls.activate(key), alias: 'filter-elsewhere' });
      const refused = await bench.api(`/v2/stats?${filter}`, key);
      expect(refused.status, refused.text).to.equal(400);
      const subjectsOf = async (query: string): Promise<readonly string[]> => {
        const { events } = (await bench.api(`/v2/events?${query}`, key)).json() as {
          readonly events: readonly { readonly subject: string }[];
        };
        return events.map(({ subject }) => subject);
      };
      await eventuallyPasses(async () => {
        for (const query of [filter, `${filter}&shortCode=filter-by-host`]) {
          expect(await subjectsOf(query)).to.deep.equal(['filter-by-host']);
        }
      });
      const change = (path: string, method: 'POST' | 'PATCH', body: object) =>
        bench.api(path, key, { method, body });
      const url = 'https://8.8.8.8/';
      const created = (await change('/v2/webhooks', 'POST', { url, domain })).json() as {
        readonly id: string;
      };
      expect(created).to.include({ domain: 'short.own.example' });
      const path = `/v2/webhooks/${created.id}`;
      const changed = async (to: string | null) =>
        (await change(path, 'PATCH', { domain: to })).json();
      expect(await changed(null)).to.include({ domain: null });
      expect(await changed(domain)).to.include({ domain: 'short.own.example' });
    });

    it('rejects claims of the own hosts, and links to them', async () => {
      const domain = await calls.activate(pro.key);
      for (const name of [
        ...['SHORT.OWN.EXAMPLE.', 'go.own.example', 'www.own.example', 'admin.own.example'],
      ]) {
        expect((await calls.claim(pro.key, name)).status, name).to.equal(400);
        expect((await calls.add(name, pro.account)).status, name).to.equal(400);
      }
      for (const url of ['https://short.own.example/a', 'https://go.own.example:8443/a']) {
        const response = await calls.change(pro.key, domain, { rootRedirect: url });
        expect(response.json()).to.include({ statusCode: 400, reason: 'ownHost' });
      }
      const body = { url: 'https://example.com', domain: 'go.own.example' };
      expect((await bench.shorten(pro.key, body)).status).to.equal(400);
    });

    it('redirects browsers on the default domain by NOT_FOUND_REDIRECT and EXPIRED_REDIRECT', async () => {
      const domain = await calls.activate(pro.key);
      const used = await bench.link(pro.key, { maxClicks: 1 });
      const blocked = await bench.link(pro.key);
      expect((await bench.visit(used.shortCode)).status).to.equal(302);
      const reason = { reason: 'phishing' };
      await bench.admin('POST', `/admin/links/${blocked.shortCode}/block`, reason);
      await calls.onEveryEdge(async (edge) => {
        for (const [host, path, status, location] of [
          ['localhost', 'unknown-code', 302, toNotFound],
          ['short.own.example', used.shortCode, 302, toExpired],
          ['localhost', blocked.shortCode, 410, undefined],
          // An own domain has none of them.
          [domain, 'unknown-code', 404, undefined],
        ] as const) {
          const visit = await calls.visit(host, path, { headers: html }, edge);
          expect([visit.status, visit.headers.location]).to.deep.equal([status, location]);
        }
        expect((await calls.visit('localhost', 'unknown-code', {}, edge)).status).to.equal(404);
      });
    });
  });

  describe('without WEBHOOK_NETWORKS', () => {
    it('accepts webhooks for public addresses by https only', async () => {
      for (const url of [receiver.hook().url, 'https://127.0.0.1', 'http://8.8.8.8']) {
        const response = await webhooks.send(pro, 'POST', '', { url });
        expect(response.json(), url).to.include({
          ...{ statusCode: 400, message: messages.webhookUrlRefused },
        });
      }
      // The second name is of Unicode 16; Node 20 has Unicode 15.
      for (const url of ['https://8.8.8.8', 'https://\ua7cb.example']) {
        await webhooks.create(pro, { url, types: ['LinkBlocked'] });
      }
    });
  });
});
