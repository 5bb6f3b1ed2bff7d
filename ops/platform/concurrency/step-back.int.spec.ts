import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const program = new URL('testing/busy-thread.js', import.meta.url).href;

interface BusyThread {
  readonly stepsBack: boolean;
  readonly isHurried?: boolean;
}

/** How often each of some threads slept that were busy together on one core, and how far it came. */
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

describe('platform: a thread that steps back', () => {
  it('leaves the core now and then to one that wants it, which does not', async () => {
    const [first, back] = await busyTogether({ stepsBack: false }, { stepsBack: true });
    expect(back?.sleeps).to.be.above(20);
    expect(first?.sleeps).to.be.below((back?.sleeps ?? NaN) / 2);
  });

  it('leaves it for less while somebody waits for its work', async () => {
    const shareOf = async (thread: BusyThread): Promise<number> => {
      const [first, back] = await busyTogether({ stepsBack: false }, thread);
      return (back?.steps ?? NaN) / (first?.steps ?? NaN);
    };
    const hurried = await shareOf({ stepsBack: true, isHurried: true });
    expect(await shareOf({ stepsBack: true })).to.be.below(hurried);
  });
});
