import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, rejection } from '../../test/support/waiting.js';
import { DeadlinePassed, withinDeadline } from './deadline.js';

describe('platform: deadline', () => {
  it('returns the outcome of the work', async () => {
    expect(await withinDeadline(1_000, () => Promise.resolve('done'))).to.equal('done');
    const failed = withinDeadline(1_000, () => Promise.reject(new Error('broken')));
    expect(await rejection(failed)).to.have.property('message', 'broken');
  });

  it('applies to all steps together, and ignores late work', async () => {
    let steps = 0;
    const late = withinDeadline(30, async () => {
      for (; steps < 4; steps += 1) await sleep(15);
      throw new Error('dropped');
    });
    expect(await rejection(late)).to.be.instanceOf(DeadlinePassed);
    expect(steps).to.be.below(4);
    await eventually('the dropped work has ended', () => steps === 4);
  });

  it('returns a result that arrived while the process was busy', async () => {
    const beside = withinDeadline(20, () => sleep(25, 'done'));
    const until = performance.now() + 60;
    while (performance.now() < until);
    expect(await beside).to.equal('done');
  });

  it('does not count the union of its pauses, however they overlap', async () => {
    const pauses: readonly (readonly [from: number, ms: number])[] = [
      [0, 300],
      [100, 50],
      [200, 300],
      [400, 200],
    ];
    const patient = withinDeadline(100, async (uncounted) => {
      await Promise.all(pauses.map(([from, ms]) => sleep(from).then(() => uncounted(sleep(ms)))));
      return 'done';
    });
    expect(await patient).to.equal('done');
  });

  it('counts again only after the last of several parallel pauses', async () => {
    const patient = withinDeadline(100, async (uncounted) => {
      await Promise.all([uncounted(sleep(10)), uncounted(sleep(400))]);
      return 'done';
    });
    expect(await patient).to.equal('done');
  });

  it('does not count an uncounted wait, and counts again after it', async () => {
    const patient = withinDeadline(30, async (uncounted) => {
      await uncounted(sleep(60));
      return 'done';
    });
    expect(await patient).to.equal('done');
    const late = withinDeadline(30, async (uncounted) => {
      await uncounted(sleep(60));
      await sleep(1_000);
    });
    expect(await rejection(late)).to.be.instanceOf(DeadlinePassed);
  });
});
