import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Starts PostgreSQL; its output is the log, and the id of the user that PostgreSQL runs as. */
const startOnce = `
  import { mkdirSync, statSync } from 'node:fs';
  import pino from ${JSON.stringify(import.meta.resolve('pino'))};
  import { startEmbeddedPostgres } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
  mkdirSync(process.argv[1]);
  const server = await startEmbeddedPostgres({ dataDir: process.argv[1], logger: pino() });
  console.log('uid ' + statSync('/proc/' + server.pid).uid);
  await server.stop();`;

const mount = 'mount';
/** A system whose `/etc` cannot be written, and has the given list of users. */
const readOnlyEtc = [
  `${mount} --bind /etc /etc`,
  'mount --bind "$1" /etc/passwd',
  'mount -o remount,bind,ro /etc',
  'shift',
  'exec "$@"',
].join(' && ');

describe('local servers: embedded PostgreSQL, where root cannot make an account for it', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'linklog-account-'));
    // `nobody` must pass it.
    chmodSync(dir, 0o755);
  });
  afterEach(() => {
    rmSync(dir, { recursive: true });
  });

  it('runs as nobody, and says in one line why it should not', () => {
    const passwd = join(dir, 'passwd');
    const users = readFileSync('/etc/passwd', 'utf8');
    writeFileSync(passwd, users.replace(/^linklog-postgres:.*\n/m, ''));
    const node = [process.execPath, '--input-type=module', '-e', startOnce, join(dir, 'data')];
    const shell = ['sh', '-c', readOnlyEtc, 'sh', passwd, ...node];
    const said = spawnSync('unshare', ['--mount', ...shell], { cwd: '/', encoding: 'utf8' });
    expect(said.stdout, said.stderr).to.match(/^uid 65534$/m);
    expect(
      said.stdout.match(/"useradd: .*as nobody.*make a user linklog-postgres/g),
    ).to.have.length(1);
  });
});
