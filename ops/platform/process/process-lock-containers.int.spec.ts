import { expect } from 'chai';
import { spawnSync, type ChildProcess } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { inContainerWithoutNetwork } from '../../test/support/container.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { ConfigError } from './config-error.js';
import { end, firstOutput, startHolder, startProgram } from './testing/lock-programs.js';
import { acquireLock, isLocked, LockHeld } from './process-lock.js';
import { needs } from '../../test/support/needs.js';

describe('platform: lock on a directory that containers share', () => {
  needs('mount', 'unshare');
  let dir: string;
  let children: ChildProcess[];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'linklog-lock-'));
    children = [];
  });

  afterEach(async () => {
    for (const child of children) await end(child);
    rmSync(dir, { recursive: true });
  });

  const holder = async (): Promise<ChildProcess> => {
    const child = await startHolder(dir, inContainerWithoutNetwork);
    children.push(child);
    return child;
  };

  it('is refused while a process of another container holds it, with its host name', async () => {
    await holder();
    expect(await isLocked(dir)).to.equal(true);
    const error = await rejection(acquireLock(dir));
    expect(error).to.be.instanceOf(LockHeld);
    expect((error as LockHeld).message).to.equal(
      `${dir} is in use by process 1 in another container or machine (host name ${hostname()})`,
    );
  });

  it('is refused to a container whose process has the same pid', async () => {
    await holder();
    const second = startProgram(
      `await acquireLock(args[0]).then(() => console.log('taken'), (error) => console.log(error.code));`,
      [dir],
      inContainerWithoutNetwork,
    );
    children.push(second);
    expect(await firstOutput(second)).to.equal('LOCK_HELD\n');
  });

  it('is taken over when the container of its holder was killed', async () => {
    await end(await holder());
    await eventually('the lock is free', async () => !(await isLocked(dir)));
    (await acquireLock(dir)).release();
    expect(readdirSync(dir)).to.deep.equal([]);
  });

  it('is a ConfigError on a file system without sockets', async () => {
    // A file system of message queues.
    expect(spawnSync('mount', ['-t', 'mqueue', 'none', dir]).status).to.equal(0);
    try {
      const error = await rejection(acquireLock(dir));
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as ConfigError).message).to.equal(
        `${dir} cannot be locked: its file system has no Unix domain sockets (EPERM); ` +
          'use a directory on a local disk',
      );
      expect(readdirSync(dir)).to.deep.equal([]);
    } finally {
      spawnSync('umount', [dir]);
    }
  });

  it('has one holder at a time, while holders in containers and outside are killed', async function () {
    this.timeout(120_000);
    // All lines are appended to one file, so their order is that of the writes: a process writes `out`
    // before it releases the lock, and the next one writes `in` after it has acquired it.
    const journal = join(dir, 'journal');
    writeFileSync(journal, '');
    const lines = (): readonly string[][] =>
      readFileSync(journal, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split(' '));
    const contended = join(dir, 'contended');
    mkdirSync(contended);
    const racers: ChildProcess[] = [];
    const addRacer = (): void => {
      const name = racers.length;
      const racer = startProgram(
        `import { appendFileSync } from 'node:fs';
         import { setTimeout as sleep } from 'node:timers/promises';
         const [dir, journal, name] = args;
         for (;;) {
           const lock = await acquireLock(dir, { waitMs: 100_000 });
           appendFileSync(journal, 'in ' + name + '\\n');
           await sleep(Math.random() * 4);
           appendFileSync(journal, 'out ' + name + '\\n');
           lock.release();
           await sleep(Math.random() * 4);
         }`,
        [contended, journal, String(name)],
        name % 2 === 0 ? inContainerWithoutNetwork : [],
      );
      racers.push(racer);
      children.push(racer);
    };
    const nextHolder = async (): Promise<number> => {
      const last = { what: '', name: '' };
      await eventually(
        'a racer has the lock',
        () => {
          [last.what = '', last.name = ''] = lines().at(-1) ?? [];
          return last.what === 'in';
        },
        60_000,
      );
      return Number(last.name);
    };

    for (let count = 0; count < 8; count += 1) addRacer();
    for (let kills = 0; kills < 25; kills += 1) {
      const victim = await nextHolder();
      const racer = racers[victim];
      if (!racer) throw new Error('the journal names a racer');
      appendFileSync(journal, `kill ${victim}\n`);
      await end(racer);
      addRacer();
    }
    const ended = racers.filter(({ exitCode }) => exitCode !== null);
    expect(ended, 'racers that ended by themselves').to.have.length(0);
    for (const racer of racers) await end(racer);

    let holding: string | null = null;
    let handovers = 0;
    const dead = new Set<string>();
    for (const [index, [what, name = '']] of lines().entries()) {
      // What it did until the signal arrived.
      if (dead.has(name)) continue;
      if (what === 'in') {
        expect(holding, `line ${index + 1} of the journal`).to.equal(null);
        holding = name;
        handovers += 1;
      } else {
        if (what === 'kill') dead.add(name);
        if (holding === name) holding = null;
      }
    }
    expect(handovers).to.be.greaterThan(25);
    await eventually('the lock is free', async () => !(await isLocked(contended)));
    (await acquireLock(contended)).release();
    expect(readdirSync(contended)).not.to.include('lock');
  });
});
