import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
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
const nobody = isRoot ? { uid: 65534, gid: 65534 } : null;

const caught = async (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error,
  );

describe('local servers: programs of PostgreSQL', () => {
  let dir: string;
  let real: NativePackage;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'linklog-binaries-'));
    chmodSync(dir, 0o755);
    real = await installedPackage();
  });

  afterEach(() => {
    spawnSync('chmod', ['-R', 'u+rwX', dir]);
    rmSync(dir, { recursive: true });
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

  const versionSaid = async (program: string): Promise<string> =>
    (await runProgram(nobody, program, ['--version'])).stdout;

  it('do not load without the links between the libraries', async () => {
    const { dir: copy } = withoutLinks();
    const program = join(copy, 'native/bin/postgres');
    const { exitCode, stderr } = await runProgram(null, program, ['--version']);
    const failed = new ServerFailed('It ended', { exitCode, output: stderr });
    const unavailable = await explainFailure(program, failed);
    expect(unavailable).to.include({ code: 'SERVER_UNAVAILABLE' });
    expect(unavailable)
      .to.have.property('message')
      .that.matches(/^[^\n]*libicu[^\n]*DATABASE_URL[^\n]*$/);
    const other = new ServerFailed('It ended', { exitCode: 1, output: stderr });
    expect(await explainFailure(program, other)).to.equal(other);
  });

  if (isRoot) {
    it('are copied for an account that cannot reach the package, once, with their links', async () => {
      const installed = withoutLinks();
      // As below /root, or installed with umask 077.
      spawnSync('chmod', ['-R', 'go-rwx', installed.dir]);
      const place = join(dir, 'cache', 'linklog');
      const { postgres } = await provideBinaries(dir, logger, installed, [place]);
      expect(postgres.startsWith(`${place}/postgres-${real.version}-`)).to.be.true;
      expect(await versionSaid(postgres)).to.include('PostgreSQL');
      for (const { source, target } of links()) {
        const link = join(dirname(dirname(postgres)), '..', target);
        expect(lstatSync(link).isSymbolicLink()).to.be.true;
        expect(readlinkSync(link)).to.equal(source.split('/').pop());
      }
      const made = statSync(postgres).ino;
      const again = await provideBinaries(dir, logger, installed, [place]);
      expect(statSync(again.postgres).ino).to.equal(made);
      expect(readdirSync(place)).to.have.length(1);
    });

    it('are copied once by several starts at the same time', async () => {
      const place = join(dir, 'cache');
      const all = await Promise.all(
        Array.from({ length: 3 }, () => provideBinaries(dir, logger, real, [place])),
      );
      expect(new Set(all.map(({ postgres }) => postgres)).size).to.equal(1);
      expect(readdirSync(place)).to.have.length(1);
      expect(await versionSaid(all[0]?.postgres ?? '')).to.include('PostgreSQL');
    });

    it('are not run from a folder that another user can write', async () => {
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
      const failure = await caught(provideBinaries(dir, logger, real, [writable, foreign, link]));
      expect(failure).to.include({ code: 'SERVER_UNAVAILABLE' });
    });

    it('are copied after abandoned half-made copies are removed', async () => {
      const place = join(dir, 'cache');
      mkdirSync(join(place, '.partial-old'), { recursive: true });
      mkdirSync(join(place, '.partial-new'));
      const longAgo = new Date(Date.now() - 7_200_000);
      utimesSync(join(place, '.partial-old'), longAgo, longAgo);
      await provideBinaries(dir, logger, real, [place]);
      expect(existsSync(join(place, '.partial-old'))).to.be.false;
      expect(existsSync(join(place, '.partial-new'))).to.be.true;
    });

    it('are found by an ordinary user too', function () {
      this.timeout(60_000);
      const mocha = new URL(import.meta.resolve('mocha/bin/mocha.js')).pathname;
      const args = [mocha, '--no-config', '--timeout', '30000', new URL(import.meta.url).pathname];
      const child = spawnSync(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/' });
      expect(child.status, child.stdout.toString()).to.equal(0);
      expect(child.stdout.toString()).to.include('run in the package');
    });
  } else {
    it('are run in the package', async () => {
      const { postgres } = await provideBinaries(dir, logger, real, []);
      expect(postgres).to.equal(join(real.dir, 'native/bin/postgres'));
    });

    it('get their missing links in the package', async () => {
      const installed = withoutLinks();
      const { postgres } = await provideBinaries(dir, logger, installed, []);
      expect(postgres).to.equal(join(installed.dir, 'native/bin/postgres'));
      expect(await versionSaid(postgres)).to.include('PostgreSQL');
    });

    it('are copied where missing links may not be made in the package', async () => {
      const installed = withoutLinks();
      chmodSync(join(installed.dir, 'native/lib'), 0o555);
      // The first place cannot be made: its parent is a file, as /dev/null is for `nobody`.
      const places = ['/dev/null/.cache/linklog', join(dir, 'home')];
      const { postgres } = await provideBinaries(dir, logger, installed, places);
      expect(postgres.startsWith(join(dir, 'home'))).to.be.true;
      expect(await versionSaid(postgres)).to.include('PostgreSQL');
    });
  }

  it('are refused on a platform that has none', async () => {
    for (const platform of ['win32-x64', 'linux-s390x', 'sunos-x64']) {
      const failure = await caught(installedPackage(platform));
      expect(failure).to.have.property('code', 'SERVER_UNAVAILABLE');
      expect(failure)
        .to.have.property('message')
        .that.matches(/^[^\n]*DATABASE_URL[^\n]*$/);
    }
  });

  it('name glibc where only their loader is missing', async function () {
    if (process.platform !== 'linux') return;
    const program = join(dir, 'postgres');
    const original = readFileSync(join(real.dir, 'native/bin/postgres'), 'latin1');
    // What musl looks like from inside: the file is there, its loader is not.
    writeFileSync(program, original.replace('/ld-linux', '/ld-nosuch'.slice(0, 9)), {
      encoding: 'latin1',
      mode: 0o755,
    });
    const error = await caught(runProgram(null, program, ['--version']));
    expect(await explainFailure(program, error))
      .to.have.property('message')
      .that.matches(/^.*musl.*DATABASE_URL.*$/);
  });

  it('are named when they are not there', async () => {
    const program = join(dir, 'postgres');
    const error = await caught(runProgram(null, program, ['--version']));
    expect(await explainFailure(program, error))
      .to.have.property('message')
      .that.includes(`${program} is not there`);
  });
});
