import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { folderFixture } from '../../test/support/fixtures.js';
import { rejection } from '../../test/support/waiting.js';
import { runProgram } from '../process/child.js';
import { ServerFailed } from '../process/errors.js';
import {
  explainFailure,
  installedPackage,
  provideBinaries,
  type NativePackage,
} from './binaries.js';

const logger = pino({ level: 'silent' });
const isRoot = process.getuid?.() === 0;
const otherAccount = isRoot ? { uid: 65534, gid: 65534 } : null;

describe('local servers: programs of PostgreSQL', () => {
  const folder = folderFixture({ per: 'test' });
  let dir: string;
  let real: NativePackage;

  beforeEach(async () => {
    dir = folder.path;
    chmodSync(dir, 0o755);
    real = await installedPackage();
  });

  afterEach(() => {
    spawnSync('chmod', ['-R', 'u+rwX', dir]);
  });

  const links = (): { source: string; target: string }[] =>
    JSON.parse(readFileSync(join(real.dir, 'native/pg-symlinks.json'), 'utf8')) as {
      source: string;
      target: string;
    }[];

  /** The package as `npm install --ignore-scripts` leaves it. */
  const withoutLinks = (): NativePackage => {
    const copy = join(dir, 'package');
    mkdirSync(copy);
    cpSync(join(real.dir, 'native'), join(copy, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    for (const { target } of links()) rmSync(join(copy, target));
    return { ...real, dir: copy };
  };

  const versionOf = async (program: string): Promise<string> =>
    (await runProgram(otherAccount, program, ['--version'])).stdout;

  it('report missing links between the libraries', async () => {
    const { dir: copy } = withoutLinks();
    const program = join(copy, 'native/bin/postgres');
    const { exitCode, stderr } = await runProgram(null, program, ['--version']);
    const failed = new ServerFailed('exited', { exitCode, output: stderr });
    const unavailable = await explainFailure(program, failed);
    expect(unavailable).to.include({ code: 'SERVER_UNAVAILABLE' });
    expect(unavailable)
      .to.have.property('message')
      .that.matches(/^[^\n]*libicu[^\n]*DATABASE_URL[^\n]*$/);
    const other = new ServerFailed('exited', { exitCode: 1, output: stderr });
    expect(await explainFailure(program, other)).to.equal(other);
  });

  if (isRoot) {
    it('are copied once, with their links, for an account that cannot read the package', async () => {
      const installed = withoutLinks();
      // Like a package below /root, or with umask 077.
      spawnSync('chmod', ['-R', 'go-rwx', installed.dir]);
      const cache = join(dir, 'cache', 'linklog');
      const { postgres } = await provideBinaries(dir, logger, installed, [cache]);
      expect(postgres.startsWith(`${cache}/postgres-${real.version}-`)).to.be.true;
      expect(await versionOf(postgres)).to.include('PostgreSQL');
      for (const { source, target } of links()) {
        const link = join(dirname(dirname(postgres)), '..', target);
        expect(lstatSync(link).isSymbolicLink()).to.be.true;
        expect(readlinkSync(link)).to.equal(source.split('/').pop());
      }
      const { ino } = statSync(postgres);
      const again = await provideBinaries(dir, logger, installed, [cache]);
      expect(statSync(again.postgres).ino).to.equal(ino);
      expect(readdirSync(cache)).to.have.length(1);
    });

    it('are copied once by concurrent starts', async () => {
      const cache = join(dir, 'cache');
      const copies = await Promise.all(
        Array.from({ length: 3 }, () => provideBinaries(dir, logger, real, [cache])),
      );
      expect(new Set(copies.map(({ postgres }) => postgres)).size).to.equal(1);
      expect(readdirSync(cache)).to.have.length(1);
      expect(await versionOf(copies[0]?.postgres ?? '')).to.include('PostgreSQL');
    });

    it('are not run from a directory that other users can write', async () => {
      const [writable, foreign, link, good] = ['a', 'b', 'c', 'd'].map((name) =>
        join(dir, name),
      ) as [string, string, string, string];
      mkdirSync(writable);
      chmodSync(writable, 0o777);
      mkdirSync(foreign);
      const planted = join(foreign, `postgres-${real.version}-${real.platform}`);
      mkdirSync(planted);
      chownSync(planted, 12345, 12345);
      symlinkSync(writable, link);
      const { postgres } = await provideBinaries(dir, logger, real, [
        writable,
        foreign,
        link,
        good,
      ]);
      expect(postgres.startsWith(`${good}/`)).to.be.true;
      const failure = await rejection(
        provideBinaries(dir, logger, real, [writable, foreign, link]),
      );
      expect(failure).to.include({ code: 'SERVER_UNAVAILABLE' });
    });

    it('are copied after abandoned copies are removed', async () => {
      const cache = join(dir, 'cache');
      mkdirSync(join(cache, '.partial-old'), { recursive: true });
      mkdirSync(join(cache, '.partial-new'));
      const longAgo = new Date(Date.now() - 7_200_000);
      utimesSync(join(cache, '.partial-old'), longAgo, longAgo);
      await provideBinaries(dir, logger, real, [cache]);
      expect(existsSync(join(cache, '.partial-old'))).to.be.false;
      expect(existsSync(join(cache, '.partial-new'))).to.be.true;
    });

    it('are found by an unprivileged user', function () {
      this.timeout(60_000);
      const mocha = new URL(import.meta.resolve('mocha/bin/mocha.js')).pathname;
      const args = [mocha, '--no-config', '--timeout', '30000', new URL(import.meta.url).pathname];
      const child = spawnSync(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/' });
      expect(child.status, child.stdout.toString()).to.equal(0);
      expect(child.stdout.toString()).to.include('are run in the package');
    });
  } else {
    it('are run in the package', async () => {
      const { postgres } = await provideBinaries(dir, logger, real, []);
      expect(postgres).to.equal(join(real.dir, 'native/bin/postgres'));
    });

    it('are run in the package after missing links are created', async () => {
      const installed = withoutLinks();
      const { postgres } = await provideBinaries(dir, logger, installed, []);
      expect(postgres).to.equal(join(installed.dir, 'native/bin/postgres'));
      expect(await versionOf(postgres)).to.include('PostgreSQL');
    });

    it('are copied if missing links cannot be created in the package', async () => {
      const installed = withoutLinks();
      chmodSync(join(installed.dir, 'native/lib'), 0o555);
      // The parent of the first directory is a file, like the home directory of `nobody`.
      const directories = ['/dev/null/.cache/linklog', join(dir, 'home')];
      const { postgres } = await provideBinaries(dir, logger, installed, directories);
      expect(postgres.startsWith(join(dir, 'home'))).to.be.true;
      expect(await versionOf(postgres)).to.include('PostgreSQL');
    });
  }

  it('are unavailable on other platforms', async () => {
    for (const platform of ['win32-x64', 'linux-s390x', 'sunos-x64']) {
      const failure = await rejection(installedPackage(platform));
      expect(failure).to.have.property('code', 'SERVER_UNAVAILABLE');
      expect(failure)
        .to.have.property('message')
        .that.matches(/^[^\n]*DATABASE_URL[^\n]*$/);
    }
  });

  it('report a missing glibc', async function () {
    if (process.platform !== 'linux') return;
    const program = join(dir, 'postgres');
    const original = readFileSync(join(real.dir, 'native/bin/postgres'), 'latin1');
    // As on musl: the file exists, its loader does not.
    writeFileSync(program, original.replace('/ld-linux', '/ld-nosuch'.slice(0, 9)), {
      encoding: 'latin1',
      mode: 0o755,
    });
    const error = await rejection(runProgram(null, program, ['--version']));
    expect(await explainFailure(program, error))
      .to.have.property('message')
      .that.matches(/^.*musl.*DATABASE_URL.*$/);
  });

  it('report a missing program', async () => {
    const program = join(dir, 'postgres');
    const error = await rejection(runProgram(null, program, ['--version']));
    expect(await explainFailure(program, error))
      .to.have.property('message')
      .that.includes(`${program} does not exist`);
  });
});
