import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { projectFile } from '../../platform/files/project-file.js';
import { sendRequest } from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { productFixture, type Link } from './harness.js';

describe('product: first key', () => {
  const bench = productFixture();

  it('is printed with a curl command that works', async () => {
    const line = bench.product
      .stdout()
      .split('\n')
      .find((output) => output.split(' ')[0] === 'curl');
    const { stdout } = await promisify(execFile)('bash', ['-c', line ?? '']);
    const link = JSON.parse(stdout) as Link;
    expect(link.url).to.equal('https://example.com/');
    const visit = await sendRequest(link.shortUrl);
    expect([visit.status, visit.headers.location]).to.deep.equal([302, 'https://example.com/']);
  });
});

describe('product: no first key, with FIRST_KEY=none', () => {
  const bench = productFixture({ FIRST_KEY: 'none', LOG_LEVEL: 'trace' });

  it('prints no valid key', async () => {
    const { stdout, stderr, ready } = bench.product;
    expect(ready).not.to.have.property('firstKey');
    const [leaked = null] = /ll_[0-9A-Za-z]{38}/.exec(stdout() + stderr()) ?? [];
    expect((await bench.api('/v2/usage', leaked)).status).to.equal(401);
    const known = await bench.admin('GET', '/admin/keys');
    expect(known.json()).to.deep.equal({ keys: [], next: null });
  });

  it('creates a key with the command of docker-compose.yml, and does not log it', async () => {
    const compose = readFileSync(projectFile('docker-compose.yml'), 'utf8');
    const command = /exec command-api-1 node dist\/ops\/tools\/cli\/main\.js (.+)/.exec(compose);
    const { dataDir, stdout, stderr } = bench.product;
    const args = (command?.[1] ?? '').split(' ');
    const said = await startLinklogCli([...args, '--json'], { DATA_DIR: dataDir }).ended;
    expect(said).to.include({ exitCode: 0, stderr: '' });
    const { key } = JSON.parse(said.stdout) as { key: string };
    expect((await bench.api('/v2/usage', key)).status).to.equal(200);
    expect(stdout() + stderr()).not.to.include(key);
  });
});
