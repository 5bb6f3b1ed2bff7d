import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from '../../config/config.js';
import { emptyDatabase } from '../support/database.js';
import { codeIn } from '../support/documented-code.js';
import { fixture } from '../support/fixture.js';
import { folderFixture } from '../support/fixtures.js';
import { withLedger } from '../support/ledger-events.js';
import { startEmbeddedProduct } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { Bench, destination } from './harness.js';
import { runbook } from '../support/runbook.js';

const cliFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

/** A folder like that of the project: its `npx linklog` is the command line of this build. */
const projectFixture = () => {
  const folder = folderFixture();
  const program = async (name: string, script: string): Promise<void> => {
    const file = path.join(folder.path, 'bin', name);
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
  };
  before(async () => {
    await mkdir(path.join(folder.path, 'bin'));
    await program('npx', `shift\nexec '${process.execPath}' '${cliFile}' "$@"`);
  });
  const run = (code: string, env: Readonly<Record<string, string>>) => {
    const { PATH = '' } = inheritedEnvironment();
    return spawnSync('bash', ['--norc', '-ec', code], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { PATH: `${folder.path}/bin:${PATH}`, ...env },
    });
  };
  return { folder, program, run };
};

describe('product: the commands of the runbook', function () {
  this.timeout(120_000);
  const project = projectFixture();
  const bench = new Bench();

  /** Runs commands after the functions of a form. @returns stdout */
  const expectToRun = (functions: string, commands: string): string => {
    const { status, stdout, stderr } = project.run(`${functions}\n${commands}`, {
      DATA_DIR: bench.product.dataDir,
    });
    // The audit shows its progress, and explains the limits of its proof.
    const notes = /^(\w+: \d+ of \d+ events|linklog: without --checkpoint).*\n/gm;
    expect(stderr.replaceAll(notes, ''), commands).to.equal('');
    // 1: grep found nothing, because nothing is wrong.
    expect(status, commands).to.be.oneOf(commands.includes('grep') ? [0, 1] : [0]);
    return stdout;
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
  });
  after(() => bench.end());

  it('First run without an error', () => {
    expect(expectToRun(runbook.forms.machine, runbook.first)).to.include('"dependencies"');
  });

  for (const { alert, commands } of runbook.sections) {
    it(`${alert} run without an error`, () => {
      expectToRun(runbook.forms.machine, commands);
    });
  }

  // In place of a cluster: the "pod" is this machine.
  it('of each kind run in Kubernetes’ form', async () => {
    await project.program(
      'kubectl',
      '[ "$*" != "${*#--namespace linklog exec [dl]}" ] || exit 3\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"',
    );
    await project.program('linklog', 'exec npx linklog "$@"');
    const functions = runbook.forms.kubernetes.replace('data=/data', 'data=.data');
    for (const wanted of ['LinklogDown', 'LinklogMissingEvents', 'LinklogDiskFull']) {
      const section = runbook.sections.find(({ alert }) => alert === wanted);
      expect(expectToRun(functions, section?.commands ?? 'exit 4')).not.to.equal('');
    }
  });
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
