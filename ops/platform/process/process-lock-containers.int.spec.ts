import { expect } from 'chai';
import { spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { inContainerWithoutNetwork } from '../../test/support/container.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { ConfigError } from '../errors.js';
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
});
