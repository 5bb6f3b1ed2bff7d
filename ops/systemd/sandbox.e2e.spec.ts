import { expect } from 'chai';
import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { folderFixture } from '../test/support/fixtures.js';
import { Bench } from '../test/e2e/harness.js';
import { mainFile } from '../test/support/process.js';
import { startEmbeddedProduct } from '../test/support/product.js';
import { needs } from '../test/support/needs.js';

/** `daemon`, which exists on every Debian. */
const user = 1;

/** Mounts all except /dev/shm, /proc and the first argument read-only for the command in the further arguments. */
const readOnly = `
  mount --bind "$0" "$0"
  mount --options remount,bind,ro /
  exec "$@"`;

/** Drops all privileges, as the unit does. Not emulated: the filter of system calls. */
const unprivileged = [
  ...['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--no-new-privs'],
  ...['--inh-caps=-all', '--bounding-set=-all'],
];

describe('product: in the sandbox of the systemd unit', function () {
  this.timeout(120_000);
  needs('mount', 'setpriv', 'unshare');
  const dir = folderFixture();
  const bench = new Bench();

  after(() => bench.end());

  it('runs as a user without privileges on a read-only system, and stops its PostgreSQL', async () => {
    await chmod(dir.path, 0o711);
    const dataDir = path.join(dir.path, 'linklog');
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, user, user);
    const runner = ['unshare', '--mount', 'sh', '-ec', readOnly, dataDir, ...unprivileged];
    // With `program`, there is no prepared cluster, which would belong to root.
    const options = { dataDir, runner, program: mainFile, env: { FIRST_KEY: 'none' } };
    bench.use(await startEmbeddedProduct(options));
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    const cluster = path.join(dataDir, 'postgres', 'cluster');
    expect((await stat(cluster)).uid).to.equal(user);

    expect(await bench.product.stop()).to.include({ exitCode: 0 });
    expect(await readdir(cluster))
      .to.include('PG_VERSION')
      .and.not.include('postmaster.pid');
  });
});
