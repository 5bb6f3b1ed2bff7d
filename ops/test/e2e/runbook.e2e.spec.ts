import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import { projectFile } from '../../platform/files/project-file.js';
import { folderFixture } from '../support/fixtures.js';
import { withLedger } from '../support/ledger-events.js';
import { startEmbeddedProduct } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { Bench } from './harness.js';

const cliFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

/** The programs of the commands, besides those of every Debian. */
const programs = ['bash', 'curl', 'jq'];

const blocksOf = (section: string, language: string): readonly string[] =>
  [...section.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );

describe('product: the commands of the runbook', function () {
  this.timeout(120_000);
  const page = readFileSync(projectFile('ops', 'docs', 'runbook.md'), 'utf8');
  const [introduction = '', ...sections] = page.split(/^## /m);
  const [setUp = '', ...others] = blocksOf(introduction, 'sh');
  const folder = folderFixture();
  const bench = new Bench();

  const run = (code: string) => {
    const { PATH = '' } = inheritedEnvironment();
    return spawnSync(programs[0] ?? '', ['--norc', '-c', code], {
      cwd: folder.path,
      encoding: 'utf8',
      env: {
        PATH: `${folder.path}/bin:${PATH}`,
        DATA_DIR: bench.product.dataDir,
        admin: bench.product.admin,
      },
    });
  };

  before(async () => {
    bench.use(await startEmbeddedProduct());
    await symlink(bench.product.dataDir, path.join(folder.path, '.data'));
    await mkdir(path.join(folder.path, 'bin'));
    // The command line of this build.
    const npx = path.join(folder.path, 'bin', 'npx');
    await writeFile(npx, `#!/bin/sh\nshift\nexec '${process.execPath}' '${cliFile}' "$@"\n`);
    await chmod(npx, 0o755);
    const { key } = await bench.key('PRO');
    await bench.visit((await bench.link(key)).shortCode);
    await withLedger(bench.product, (pool) =>
      eventually('events are sealed', async () => {
        const { rowCount } = await pool.query('SELECT FROM seals.checkpoints');
        return (rowCount ?? 0) > 0;
      }),
    );
    const { stdout, stderr } = run(setUp.replace(/^admin=.*\n/, ''));
    expect(stderr).to.equal('');
    expect(Number(stdout)).to.be.above(50);
  });
  after(() => bench.end());

  const expectToRun = (code: string): void => {
    const { status, stderr } = run(code);
    // The audit shows its progress, and explains the limits of its proof.
    const notes = /^(\w+: \d+ of \d+ events|linklog: without --checkpoint).*\n/gm;
    expect(stderr.replaceAll(notes, ''), code).to.equal('');
    // 1: grep found nothing, because nothing is wrong.
    expect(status, code).to.be.oneOf(code.includes('grep') ? [0, 1] : [0]);
  };

  it('begin with the state of the process', () => {
    expect(others).to.have.length(1);
    const { stdout } = run(others[0] ?? '');
    expect(JSON.parse(stdout)).to.include({ status: 'pass' });
  });

  for (const section of sections) {
    const [alert = ''] = section.split('\n');
    it(`${alert} run without an error`, async () => {
      const commands = blocksOf(section, 'sh');
      const queries = blocksOf(section, 'sql');
      expect(commands.length + queries.length).to.be.above(0);
      for (const code of commands) expectToRun(code);
      await withLedger(bench.product, async (pool) => {
        for (const query of queries) await pool.query(query);
      });
    });
  }
});
