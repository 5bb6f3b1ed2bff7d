// An own product, with variables that the shared product does not have.
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';
import { folderFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { connectTo } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, expectRefused, productFixture } from './harness.js';

const root = 'https://www.example.com/home';
const unsafe = 'URL appears to be unsafe and cannot be shortened';

describe('a product with', () => {
  const folder = folderFixture();
  const blocklist = (): string => path.join(folder.path, 'blocklist.txt');
  const bench = productFixture(async () => {
    await writeFile(blocklist(), '# ours\nblocked.example\n');
    return {
      ...{ FIRST_KEY: 'none', LOG_LEVEL: 'trace', ROOT_REDIRECT: root },
      ...{ SHORT_URL_HOST: 'https://sho.rt/', BLOCKLIST_FILE: blocklist() },
      ADMIN_HOSTS: 'ops.example.com,command-api-1:8082',
    };
  });

  // The first test, because it expects that there is no key.
  it('FIRST_KEY=none has no key, and prints none', async () => {
    const { stdout, stderr, ready } = bench.product;
    expect(ready).not.to.have.property('firstKey');
    expect(stdout() + stderr()).not.to.match(/ll_[0-9A-Za-z]{38}/);
    const known = await bench.admin('GET', '/admin/keys');
    expect(known.json()).to.deep.equal({ keys: [], next: null });
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

  it('ROOT_REDIRECT redirects from the root', async () => {
    const { status, headers } = await bench.visit('');
    expect([status, headers.location]).to.deep.equal([302, root]);
    expect(headers['cache-control']).to.match(/no-store/);
  });

  it('SHORT_URL_HOST has it in short URLs, and rejects it as a destination', async () => {
    const { key } = await bench.key('PRO');
    const link = await bench.link(key);
    expect(link.shortUrl).to.equal(`https://sho.rt/${link.shortCode}`);
    expect((await bench.visit(link.shortCode)).headers.location).to.equal(destination);
    for (const [url, status] of [
      ['http://SHO.RT:443/abc', 400],
      ['https://sho.rt:8443/', 201],
    ] as const) {
      expect((await bench.shorten(key, { url })).status, url).to.equal(status);
    }
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
});
