import { expect } from 'chai';
import { DutyCycle } from './duty-cycle.js';

const work = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

describe('concurrency: duty cycle', () => {
  it('ends its pauses in a process that is always busy', async () => {
    const dutyCycle = new DutyCycle(new AbortController().signal);
    let stopped = false;
    const keepBusy = (): void => {
      work(1);
      if (!stopped) setImmediate(keepBusy);
    };
    keepBusy();
    for (let piece = 0; piece < 3; piece += 1) {
      work(1);
      await dutyCycle.pause();
    }
    stopped = true;
  });

  it('ends a pause when the signal is aborted', async () => {
    const stopping = new AbortController();
    const dutyCycle = new DutyCycle(stopping.signal);
    work(20);
    const pause = dutyCycle.pause();
    stopping.abort();
    await pause;
    await dutyCycle.pause();
    expect(stopping.signal.aborted).to.be.true;
  });
});
