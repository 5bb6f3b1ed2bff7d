import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { projectFile } from '../../platform/files/project-file.js';
import { startLinklogCli } from '../support/process.js';
import { productFixture } from './harness.js';

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

  it('creates a key with the command of containers.md, and does not log it', async () => {
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
});
