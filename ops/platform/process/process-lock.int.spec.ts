import { expect } from 'chai';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, firstOutput, startHolder, startProgram } from './testing/lock-programs.js';
import { acquireLock, isLocked, LockHeld } from './process-lock.js';

const refusal = async (taking: Promise<unknown>): Promise<LockHeld> => {
  try {
    await taking;
  } catch (error) {
    if (error instanceof LockHeld) return error;
    throw error;
  }
  throw new Error('the lock was taken');
};

describe('platform: lock on a directory', () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'linklog-lock-'));
  });

  afterEach(() => {
    rmSync(dir, { recursive: true });
  });

  /** Expects that the lock can be acquired, and that its release leaves nothing behind. */
  const expectFree = async (path = dir, options = {}): Promise<void> => {
    (await acquireLock(path, options)).release();
    expect(readdirSync(path)).to.deep.equal([]);
  };

  it('is not reentrant, is awaited for a limited time, and can be acquired again after its release', async () => {
    const lock = await acquireLock(dir);
    expect(await isLocked(dir)).to.be.true;
    for (const options of [{}, { waitMs: 50 }]) {
      const refused = await refusal(acquireLock(dir, options));
      expect(refused).to.include({ code: 'LOCK_HELD', pid: process.pid });
    }
    lock.release();
    lock.release();
    expect(await isLocked(dir)).to.be.false;
    await expectFree();
  });

  it('is acquired by a waiting process when its holder ends', async () => {
    const child = await startHolder(dir);
    const taking = acquireLock(dir, { waitMs: 10_000 });
    await sleep(200);
    await end(child);
    (await taking).release();
  });

  /** The record of this process, whose lock it has now. */
  const record = (change: object): string => {
    const own = JSON.parse(readFileSync(join(dir, 'lock'), 'utf8')) as object;
    return JSON.stringify({ ...own, ...change });
  };

  it('is held by a suspended process, also after many checks', async () => {
    const child = await startHolder(dir);
    child.kill('SIGSTOP');
    // The queue of connections that are not accepted has room for 511.
    for (let count = 0; count < 600; count += 1) expect(await isLocked(dir)).to.be.true;
    await end(child);
    expect(await isLocked(dir)).to.be.false;
  });

  for (const [title, stdio, isHeld] of [
    ['is not inherited by child processes', `'ignore'`, false],
    [
      'is held by a child process with its descriptor',
      `['ignore', 'ignore', 'ignore', lock.fd]`,
      true,
    ],
  ] as const) {
    it(title, async () => {
      const holder = startProgram(
        `import { spawn } from 'node:child_process';
         const lock = await acquireLock(args[0]);
         const child = spawn('sleep', ['60'], { detached: true, stdio: ${stdio} });
         child.once('spawn', () => console.log(child.pid));
         process.stdin.resume();`,
        [dir],
      );
      const pid = Number(await firstOutput(holder));
      await end(holder);
      try {
        expect(await isLocked(dir)).to.equal(isHeld);
      } finally {
        process.kill(pid, 'SIGKILL');
      }
      await expectFree(dir, { waitMs: 10_000 });
    });
  }

  it('is handed over to a child process with its descriptor', async () => {
    const lock = await acquireLock(dir);
    const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd] });
    await once(child, 'spawn');
    lock.handOver();
    expect(await isLocked(dir)).to.be.true;
    await end(child);
    expect(await isLocked(dir)).to.be.false;
    await expectFree();
  });

  it('of a directory with a path that is too long for a socket is held', async () => {
    const deep = join(dir, 'a'.repeat(100), 'b'.repeat(100));
    mkdirSync(deep, { recursive: true });
    const child = await startHolder(deep);
    const refused = await refusal(acquireLock(deep));
    expect(refused.pid).to.equal(child.pid);
    expect(refused.message).to.include(`process ${String(child.pid)}`);
    await end(child);
    await expectFree(deep);
  });

  it('is not held in a copy of the directory', async () => {
    const original = join(dir, 'original');
    mkdirSync(original);
    const lock = await acquireLock(original);
    const copy = join(dir, 'copy');
    expect(spawnSync('cp', ['-a', original, copy]).status).to.equal(0);
    expect(readdirSync(copy)).to.have.members(readdirSync(original));
    expect(await isLocked(copy)).to.be.false;
    await expectFree(copy);
    expect(await isLocked(original)).to.be.true;
    lock.release();
  });

  it('has a socket that only its user can access', async () => {
    const lock = await acquireLock(dir);
    const socket = readdirSync(dir).find((name) => name !== 'lock') ?? '';
    expect(statSync(join(dir, socket)).mode & 0o777).to.equal(0o600);
    lock.release();
  });

  describe('left behind', () => {
    const cases: [string, () => string][] = [
      ['by a process that exited', () => record({})],
      ['empty, by a power loss', () => ''],
      ['half written', () => '{"pid":1'],
      ['with a token that is no file name', () => record({ token: '../../x' })],
    ];
    for (const [how, content] of cases) {
      it(`is taken over: ${how}`, async () => {
        const lock = await acquireLock(dir);
        const left = content();
        lock.release();
        writeFileSync(join(dir, 'lock'), left);
        expect(await isLocked(dir)).to.be.false;
        await expectFree();
      });
    }

    it('is taken over after a process died during a takeover', async () => {
      await end(await startHolder(dir));
      const dead = readFileSync(join(dir, 'lock'), 'utf8');
      const { token } = JSON.parse(dead) as { token: string };
      writeFileSync(join(dir, `lock.${token}`), dead.replace(token, 'feedfeedfeedfeed'));
      await expectFree();
    });
  });

  it('left behind is taken over by exactly one of twenty processes, twenty times', async function () {
    this.timeout(120_000);
    const rounds = 20;
    await end(await startHolder(dir));
    const stale = readFileSync(join(dir, 'lock'), 'utf8');
    const dirs = Array.from({ length: rounds }, (_, round) => join(dir, String(round)));
    for (const path of dirs) {
      mkdirSync(path);
      writeFileSync(join(path, 'lock'), stale);
    }
    // All spin until the same instant of each round, so that they truly meet; who won keeps its lock.
    const racers = Array.from({ length: 20 }, () =>
      startProgram(
        `const said = [];
         console.log('ready');
         const begin = await new Promise((go) => process.stdin.once('data', (at) => go(Number(at))));
         for (const [round, dir] of args.entries()) {
           while (Date.now() < begin + round * 40);
           try { await acquireLock(dir); said.push(process.pid); }
           catch (error) {
             if (error.code !== 'LOCK_HELD') throw error;
             said.push(-error.pid);
           }
         }
         console.log(JSON.stringify(said));
         process.stdin.resume();`,
        dirs,
      ),
    );
    await Promise.all(racers.map(firstOutput));
    const begin = String(Date.now() + 100);
    racers.forEach((racer) => racer.stdin?.write(begin));
    // No process may end before all have raced, or its locks would be taken over.
    const answers = (await Promise.all(racers.map(firstOutput))).map(
      (line) => JSON.parse(line) as number[],
    );
    await Promise.all(
      racers.map((racer) => {
        const exited = once(racer, 'exit');
        racer.stdin?.end();
        return exited;
      }),
    );
    for (let round = 0; round < rounds; round += 1) {
      const said = answers.map((answer) => answer[round] ?? 0);
      const winners = said.filter((pid) => pid > 0);
      expect(winners, `round ${round}`).to.have.length(1);
      const named = new Set(said.filter((pid) => pid < 0).map((pid) => -pid));
      // On a busy machine, a takeover of another process can last longer than a process waits for it.
      expect(racers.map(({ pid }) => pid)).to.include.members([...named], `round ${round}`);
      const left = readdirSync(dirs[round] ?? '');
      expect(left, `round ${round}`).to.have.length(2).and.to.include('lock');
    }
  });
});
