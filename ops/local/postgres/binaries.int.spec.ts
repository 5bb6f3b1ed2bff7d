import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
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
import { needs } from '../../test/support/needs.js';

interface Link {
  readonly source: string;
  readonly target: string;
}

const logger = pino({ level: 'silent' });
const isRoot = process.getuid?.() === 0;
const otherAccount = isRoot ? { uid: 65534, gid: 65534 } : null;

describe('local servers: programs of PostgreSQL', () => {
  const folder = folderFixture({ per: 'test' });
  let dir: string;
  let real: NativePackage;

  beforeEach(async () => {
    dir = folder.path;
    fs.chmodSync(dir, 0o755);
    real = await installedPackage();
  });

  afterEach(() => {
    spawnSync('chmod', ['-R', 'u+rwX', dir]);
  });

  const links = (): readonly Link[] =>
    JSON.parse(fs.readFileSync(join(real.dir, 'native/pg-symlinks.json'), 'utf8')) as Link[];

  /** The package as `npm install --ignore-scripts` leaves it. */
  const withoutLinks = (): NativePackage => {
    const copy = join(dir, 'package');
    fs.mkdirSync(copy);
    const options = { recursive: true, verbatimSymlinks: true };
    fs.cpSync(join(real.dir, 'native'), join(copy, 'native'), options);
    for (const { target } of links()) fs.rmSync(join(copy, target));
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
        expect(fs.lstatSync(link).isSymbolicLink()).to.be.true;
        expect(fs.readlinkSync(link)).to.equal(source.split('/').pop());
      }
      const { ino } = fs.statSync(postgres);
      const again = await provideBinaries(dir, logger, installed, [cache]);
      expect(fs.statSync(again.postgres).ino).to.equal(ino);
      expect(fs.readdirSync(cache)).to.have.length(1);
    });

    it('are not run from a directory that other users can write', async () => {
      const paths = ['a', 'b', 'c', 'd'].map((name) => join(dir, name));
      const [writable, foreign, link, good] = paths as [string, string, string, string];
      fs.mkdirSync(writable);
      fs.chmodSync(writable, 0o777);
      fs.mkdirSync(foreign);
      const planted = join(foreign, `postgres-${real.version}-${real.platform}`);
      fs.mkdirSync(planted);
      fs.chownSync(planted, 12345, 12345);
      fs.symlinkSync(writable, link);
      const { postgres } = await provideBinaries(dir, logger, real, paths);
      expect(postgres.startsWith(`${good}/`)).to.be.true;
      const failure = await rejection(provideBinaries(dir, logger, real, paths.slice(0, 3)));
      expect(failure).to.include({ code: 'SERVER_UNAVAILABLE' });
    });

    describe('for an unprivileged user', () => {
      needs('setpriv');

      it('are found', function () {
        this.timeout(60_000);
        const mocha = new URL(import.meta.resolve('mocha/bin/mocha.js')).pathname;
        const args = [
          mocha,
          '--no-config',
          '--timeout',
          '30000',
          new URL(import.meta.url).pathname,
        ];
        const child = spawnSync(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/' });
        expect(child.status, child.stdout.toString()).to.equal(0);
        expect(child.stdout.toString()).to.include('are run in the package');
      });
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
      fs.chmodSync(join(installed.dir, 'native/lib'), 0o555);
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
      expect((failure as Error).message).to.match(/^[^\n]*DATABASE_URL[^\n]*$/);
    }
  });
});
