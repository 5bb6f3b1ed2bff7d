import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderFixture } from '../../test/support/fixtures.js';
import { needs } from '../../test/support/needs.js';

/** Starts PostgreSQL and prints the log and the uid of PostgreSQL. */
const startOnce = `
  import { mkdirSync, statSync } from 'node:fs';
  import pino from ${JSON.stringify(import.meta.resolve('pino'))};
  import { startEmbeddedPostgres } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
  mkdirSync(process.argv[1]);
  const server = await startEmbeddedPostgres({ dataDir: process.argv[1], logger: pino() });
  console.log('uid ' + statSync('/proc/' + server.pid).uid);
  await server.stop();`;

/** Mounts `/etc` read-only, with the given `/etc/passwd`. */
const readOnlyEtc = [
  'mount --bind /etc /etc',
  'mount --bind "$1" /etc/passwd',
  'mount -o remount,bind,ro /etc',
  'shift',
  'exec "$@"',
].join(' && ');

describe('local servers: embedded PostgreSQL without a dedicated account', () => {
  needs('mount', 'unshare');
  const dir = folderFixture();

  it('runs as uid 65534, and logs a warning', () => {
    // Other users must be able to traverse it.
    chmodSync(dir.path, 0o755);
    const passwd = join(dir.path, 'passwd');
    const users = readFileSync('/etc/passwd', 'utf8');
    writeFileSync(passwd, users.replace(/^linklog-postgres:.*\n/m, ''));
    const node = [process.execPath, '--input-type=module', '-e', startOnce, join(dir.path, 'data')];
    const shell = ['sh', '-c', readOnlyEtc, 'sh', passwd, ...node];
    const output = spawnSync('unshare', ['--mount', ...shell], { cwd: '/', encoding: 'utf8' });
    expect(output.stdout, output.stderr).to.match(/^uid 65534$/m);
    expect(
      output.stdout.match(/"useradd: .*runs as uid 65534.*create a user linklog-postgres/g),
    ).to.have.length(1);
  });
});
