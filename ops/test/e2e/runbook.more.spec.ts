import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import { emptyDatabase } from '../support/database.js';
import { blocksIn, codeIn, pageOf } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { withLedger } from '../support/ledger-events.js';
import { startEmbeddedProduct } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { Bench, destination } from './harness.js';
import { needs } from '../support/needs.js';

const cliFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

/** A folder like that of the project: its `npx linklog` is the command line of this build. */
const projectFixture = () => {
  const folder = folderFixture();
  before(async () => {
    await mkdir(path.join(folder.path, 'bin'));
    const npx = path.join(folder.path, 'bin', 'npx');
    await writeFile(npx, `#!/bin/sh\nshift\nexec '${process.execPath}' '${cliFile}' "$@"\n`);
    await chmod(npx, 0o755);
  });
  const run = (code: string, env: Readonly<Record<string, string>>) => {
    const { PATH = '' } = inheritedEnvironment();
    return spawnSync('bash', ['--norc', '-ec', code], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { PATH: `${folder.path}/bin:${PATH}`, ...env },
    });
  };
  return { folder, run };
};

describe('product: the commands of the runbook', function () {
  this.timeout(120_000);
  needs('curl', 'jq');
  const page = pageOf('runbook.md');
  const [introduction = '', ...sections] = page.split(/^## /m);
  const [setUp = '', ...others] = blocksIn(introduction, 'sh');
  const project = projectFixture();
  const bench = new Bench();

  const run = (code: string) => {
    const { dataDir, admin } = bench.product;
    return project.run(code, { DATA_DIR: dataDir, admin });
  };

  before(async () => {
    bench.use(await startEmbeddedProduct());
    await symlink(bench.product.dataDir, path.join(project.folder.path, '.data'));
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
      const commands = blocksIn(section, 'sh');
      const queries = blocksIn(section, 'sql');
      expect(commands.length + queries.length).to.be.above(0);
      for (const code of commands) expectToRun(code);
      await withLedger(bench.product, async (pool) => {
        for (const query of queries) await pool.query(query);
      });
    });
  }
});

describe('product: the commands of backup.md', function () {
  this.timeout(120_000);
  const project = projectFixture();
  const database = fixture(
    () => emptyDatabase('documented_restore'),
    (database) => database.drop(),
  );
  const [bench, moved] = [new Bench(), new Bench()];
  let key: string;

  before(async () => {
    // PostgreSQL runs as another user.
    await chmod(project.folder.path, 0o711);
    bench.use(await startEmbeddedProduct());
    ({ key } = await bench.key('PRO'));
    await bench.link(key, { alias: 'kept' });
  });
  after(() => bench.end());
  after(() => moved.end());

  const at = (name: string): string => path.join(project.folder.path, name);
  /** Runs commands, with another folder for the new installation. */
  const expectToRun = (code: string, target: string): void => {
    const commands = code
      .replaceAll('/var/lib/linklog', at(target))
      .replaceAll('postgres://…', database.url);
    const { status, stderr } = project.run(commands, { DATA_DIR: bench.product.dataDir });
    expect(status, `${commands}\n${stderr}`).to.equal(0);
  };

  it('back up, and restore into the embedded and an external PostgreSQL', async () => {
    expectToRun(codeIn('backup.md', 'sh', 'Back up'), '');
    expect((await stat(at('linklog.backup'))).mode & 0o777).to.equal(0o600);
    expectToRun(codeIn('backup.md', 'sh', 'Restore'), 'restored');
    const { rows } = await database.pool.query('SELECT FROM ledger.links');
    expect(rows).to.have.length(1);
    await rm(at('linklog.backup'));
  });

  it('move to another machine', async () => {
    const code = codeIn('backup.md', 'sh', 'Move to another machine');
    const [first = '', last = ''] = code.split(/^DATA_DIR=.* npm start\n/m);
    expectToRun(first, 'moved');
    expect((await bench.shorten(key, { url: destination })).status).to.equal(503);
    moved.use(await startEmbeddedProduct({ dataDir: at('moved') }));
    expect((await moved.shorten(key, { url: destination })).status).to.equal(503);
    expectToRun(last, 'moved');
    expect((await moved.shorten(key, { url: destination })).status).to.equal(201);
    expect((await moved.visit('kept')).status).to.equal(302);
  });
});
