// Own products: they make backups in folders of their own.
import { expect } from 'chai';
import { chmod, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { keyFixture, productFixture, startSecondNode } from '../test/e2e/harness.js';
import { folderFixture } from '../test/support/fixtures.js';
import { sendRequest } from '../test/support/http.js';
import { startLinklogCli } from '../test/support/process.js';
import { eventually, eventuallyPasses } from '../test/support/waiting.js';

describe('product: scheduled backups', () => {
  const folder = folderFixture();
  const dir = (): string => path.join(folder.path, 'backups');
  const schedule = () => ({ BACKUP_DIR: dir(), BACKUP_EVERY: '1h', BACKUP_KEEP: '2' });
  const bench = productFixture(schedule);
  const pro = keyFixture(bench, 'PRO');

  const backups = async (): Promise<readonly string[]> =>
    (await readdir(dir())).filter((name) => name.endsWith('.backup'));
  const metric = async (name: string): Promise<number> => {
    const { text } = await sendRequest(`${bench.product.admin}/metrics`);
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  };
  let before: readonly string[];
  const run = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
    const { dataDir } = bench.product;
    const { exitCode, stdout, stderr } = await startLinklogCli(args, { DATA_DIR: dataDir, ...env })
      .ended;
    expect(exitCode, stderr).to.equal(0);
    return JSON.parse(stdout) as { file: string; events: number; deleted: readonly string[] };
  };

  it('are made by one of two processes, and are in the metrics', async () => {
    await eventually(
      'a backup',
      async () => (await metric('linklog_backup_timestamp_seconds')) > 0,
    );
    const [first = ''] = await backups();
    expect(first).to.match(/^linklog-.+Z\.backup$/);
    expect(await metric('linklog_backup_interval_seconds')).to.equal(3_600);
    // The newest one is due for both processes.
    await rm(path.join(dir(), first));
    const other = await startSecondNode(bench.product, schedule());
    try {
      await eventually('a backup of the second process', async () => (await backups()).length > 0);
      before = await backups();
      expect(before).to.have.length(1);
    } finally {
      await other.stop();
      await other.cleanup();
    }
  });

  it('beside those of the command line, are verified and restored', async () => {
    await bench.link(pro.key);
    const backup = await run({}, 'backup', '--keep', '1', '--json', dir());
    expect([await backups(), backup.deleted]).to.deep.equal([[path.basename(backup.file)], before]);
    // The embedded PostgreSQL runs as another user.
    await chmod(folder.path, 0o755);
    const target = { DATA_DIR: path.join(folder.path, 'restored') };
    expect(await run(target, 'restore', '--json', backup.file)).to.include({
      events: backup.events,
    });
  });
});

describe('product: scheduled backups that fail', () => {
  const folder = folderFixture();
  const bench = productFixture(async () => {
    const file = path.join(folder.path, 'file');
    await writeFile(file, '');
    return { BACKUP_DIR: path.join(file, 'backups') };
  });

  it('are reported with their reason, and do not affect the service', async () => {
    await eventuallyPasses(() => {
      expect(bench.product.stderr() + bench.product.stdout()).to.match(
        /the backup failed: .*ENOTDIR/,
      );
    });
    const { text } = await sendRequest(`${bench.product.admin}/metrics`);
    expect(text).to.include('linklog_backup_timestamp_seconds 0\n');
    expect((await sendRequest(`${bench.product.api}/health/ready`)).status).to.equal(200);
  });
});
