import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const program = new URL('testing/busy-thread.js', import.meta.url).href;

interface BusyThread {
  readonly hasLowPriority: boolean;
  readonly isAwaited?: boolean;
}

/** How often each of several threads slept that were busy together on one core, and how far each came. */
const busyTogether = async (...threads: readonly BusyThread[]) => {
  const script = `
    const { Worker } = await import('node:worker_threads');
    const { once } = await import('node:events');
    const started = ${JSON.stringify(threads)}.map((thread) =>
      new Worker(new URL('${program}'), { execArgv: [], workerData: { ...thread, ms: 600 } }));
    const answers = await Promise.all(started.map((worker) => once(worker, 'message')));
    console.log(JSON.stringify(answers.map(([answer]) => answer)));`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)('taskset', ['-c', '0', ...node]);
  return (JSON.parse(stdout) as [number, number][]).map(([sleeps, steps]) => ({ sleeps, steps }));
};

describe('platform: a thread of low priority', () => {
  it('yields the core to a thread of normal priority, which does not yield', async () => {
    const [first, low] = await busyTogether({ hasLowPriority: false }, { hasLowPriority: true });
    expect(low?.sleeps).to.be.above(20);
    expect(first?.sleeps).to.be.below((low?.sleeps ?? NaN) / 2);
  });

  it('yields less during work at normal priority', async () => {
    const shareOf = async (thread: BusyThread): Promise<number> => {
      const [first, low] = await busyTogether({ hasLowPriority: false }, thread);
      return (low?.steps ?? NaN) / (first?.steps ?? NaN);
    };
    const awaited = await shareOf({ hasLowPriority: true, isAwaited: true });
    expect(await shareOf({ hasLowPriority: true })).to.be.below(awaited);
  });
});
