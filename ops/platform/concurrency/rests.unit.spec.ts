import { expect } from 'chai';
import { Rests } from './rests.js';

const work = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

describe('concurrency: rests', () => {
  it('end, also while the process is busy all the time', async () => {
    const rests = new Rests(new AbortController().signal);
    let stopped = false;
    const keepBusy = (): void => {
      work(1);
      if (!stopped) setImmediate(keepBusy);
    };
    keepBusy();
    for (let piece = 0; piece < 3; piece += 1) {
      work(1);
      await rests.take();
    }
    stopped = true;
  });

  it('are cut short by the signal', async () => {
    const stopping = new AbortController();
    const rests = new Rests(stopping.signal);
    work(20);
    const resting = rests.take();
    stopping.abort();
    await resting;
    await rests.take();
    expect(stopping.signal.aborted).to.be.true;
  });
});
