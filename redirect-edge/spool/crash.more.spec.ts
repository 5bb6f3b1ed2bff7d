import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { EdgeTask } from './testing/edge-process.js';
import { range, visitsOf } from './testing/harness.js';
import { spoolFixture } from './testing/spool-fixture.js';
import { writeOrphan } from './testing/orphan-folder.js';
import { eventually } from '../../ops/test/support/waiting.js';

const program = fileURLToPath(new URL('testing/edge-process.js', import.meta.url));

interface Report {
  readonly id: string;
  readonly maxRssMib: number;
  readonly [field: string]: unknown;
}

describe('redirect edge: spool of a process', () => {
  const bench = spoolFixture();
  const children: ChildProcess[] = [];
  const kill = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  afterEach(async () => {
    for (const child of children.splice(0)) await kill(child);
  });

  const notes = (name: string) => join(bench.dataDir, name);
  const start = (task: EdgeTask, name: string, limits = '', nodeOptions: string[] = []) => {
    const command = `${limits} exec "$@"`;
    const node = [process.execPath, ...nodeOptions, program, bench.dataDir, task, notes(name)];
    const child = spawn('/bin/sh', ['-c', command, 'sh', ...node], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const report = async (): Promise<Report> => {
      const line = await lines.next();
      if (line.done === true) throw new Error('the edge ended without a report');
      return JSON.parse(line.value) as Report;
    };
    return { child, report };
  };
  /** The complete lines of a file, which may not exist yet. */
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  const acked = async (name: string) => (await linesOf(notes(`${name}.acked`))).map(Number);
  const shippedBy = async (name: string) =>
    (await linesOf(notes(`${name}.log`))).map(
      (line) => JSON.parse(line) as { key: string; value: string },
    );
  const isGone = (id: string) =>
    eventually('the orphan is gone', async () => !(await readdir(bench.root)).includes(id));
  const adopt = async () => {
    const spool = await bench.open();
    await eventually('one spool is left', async () => (await readdir(bench.root)).length === 1);
    await spool.stop();
    return bench.log;
  };

  /**
   * Expects each acknowledged visit once, in order. Others may follow: a kill may cut the records of a tick, which has one
   * for each partition.
   */
  const expectWritten = (found: readonly number[], acknowledged: readonly number[]) => {
    const last = acknowledged.at(-1) ?? 0;
    expect(found.slice(0, last)).to.deep.equal(range(1, last));
    expect(found).to.deep.equal([...new Set(found)].sort((left, right) => left - right));
  };

  for (const [title, task] of [
    ['loses no acknowledged visit when killed with -9 without a log', 'write-without-log'],
    ['leaves no gap and no disorder in the log when killed with -9 during shipping', 'write'],
  ] as const) {
    it(title, async () => {
      const { child, report } = start(task, 'edge');
      const { id } = await report();
      const written = task === 'write' ? shippedBy : acked;
      await eventually('visits are written', async () => (await written('edge')).length > 100);
      await sleep(200 * Math.random());
      await kill(child);
      const promised = await acked('edge');
      const before = await shippedBy('edge');

      const log = await adopt();
      const found = visitsOf([...before, ...log.records], id);
      expectWritten(found, promised);
      // At most one batch, whose position was not written, is repeated.
      const most = task === 'write' ? 2000 : 0;
      expect(before.length + log.records.length - found.length).to.be.at.most(most);
    });
  }

  it('is adopted by exactly one of two edges', async () => {
    const dead = start('write-without-log', 'dead');
    const { id } = await dead.report();
    const adopters = ['left', 'right'].map((name) => start('adopt', name));
    await Promise.all(adopters.map(({ report }) => report()));
    await eventually('visits are acknowledged', async () => (await acked('dead')).length > 100);
    await kill(dead.child);
    await isGone(id);

    const logs = await Promise.all(['left', 'right'].map(shippedBy));
    const shipped = logs.map((records) => visitsOf(records, id)).filter(({ length }) => length > 0);
    expect(shipped).lengthOf(1);
    const [found = []] = shipped;
    expectWritten(found, await acked('dead'));

    for (const { child } of adopters) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    expect(await readdir(bench.root)).to.deep.equal([]);
  });

  it('contains exactly the acknowledged visits after a write fails on a full disk', async () => {
    // dash counts blocks of 512 bytes.
    const { child, report } = start('fill', 'edge', 'ulimit -f 301;');
    const result = await report();
    await once(child, 'exit');
    expect(result['codes']).to.deep.equal(['SPOOL_WRITE_FAILED']);
    const log = await adopt();
    expect(log.visitsOf(result.id)).to.deep.equal(result['acked']);
    expect(log.records.length).to.be.within(200, 1000);
  });

  describe('memory', () => {
    const limits = ['--max-old-space-size=32'];

    it('does not grow with the spools that it adopts', async () => {
      const { id } = await writeOrphan(bench.dataDir, new Array<number>(8).fill(25_000));
      const { child, report } = start('adopt-uncopied', 'edge', '', limits);
      await report();
      await isGone(id);
      child.kill('SIGTERM');
      const { maxRssMib, shipped } = await report();
      expect(shipped).to.equal(200_000);
      expect(maxRssMib).to.be.lessThan(160);
    });
  });
});
