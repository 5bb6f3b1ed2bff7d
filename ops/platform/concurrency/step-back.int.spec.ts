import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const program = new URL('testing/busy-thread.js', import.meta.url).href;

/** How often each of some threads slept that were busy together on one core. */
const sleepsOf = async (...threads: readonly { readonly stepsBack: boolean }[]) => {
  const script = `
    const { Worker } = await import('node:worker_threads');
    const { once } = await import('node:events');
    const started = ${JSON.stringify(threads)}.map((thread) =>
      new Worker(new URL('${program}'), { execArgv: [], workerData: { ...thread, ms: 400 } }));
    const answers = await Promise.all(started.map((worker) => once(worker, 'message')));
    console.log(JSON.stringify(answers.flat()));`;
  const node = [process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)('taskset', ['-c', '0', ...node]);
  return JSON.parse(stdout) as readonly number[];
};

describe('platform: a thread that steps back', () => {
  it('leaves the core now and then to one that wants it, which does not', async () => {
    const [first = NaN, back = NaN] = await sleepsOf({ stepsBack: false }, { stepsBack: true });
    expect(back).to.be.above(20);
    expect(first).to.be.below(back / 2);
  });
});
