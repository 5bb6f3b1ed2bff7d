import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { rejection } from '../../test/support/waiting.js';
import { DeadlinePassed, withinDeadline, type Uncounted } from './deadline.js';
import { deferred, never } from './deferred.js';
import { withVirtualTime } from './testing/virtual-time.js';

describe('platform: deadline', () => {
  it('returns the outcome of the work', async () => {
    expect(await withinDeadline(1_000, () => Promise.resolve('done'))).to.equal('done');
    const failed = withinDeadline(1_000, () => Promise.reject(new Error('broken')));
    expect(await rejection(failed)).to.have.property('message', 'broken');
  });

  it('applies to all steps together, and ignores late work', () =>
    withVirtualTime(async (advance) => {
      const [first, second] = [deferred(), deferred()];
      const late = rejection(
        withinDeadline(30, async () => {
          await first.promise;
          await second.promise;
          throw new Error('dropped');
        }),
      );
      await advance(20);
      first.resolve();
      await advance(10);
      expect(await late).to.be.instanceOf(DeadlinePassed);
      second.resolve();
    }));

  it('returns a result that arrived while the process was busy', async () => {
    const beside = withinDeadline(2, () => sleep(3, 'done'));
    const until = performance.now() + 6;
    while (performance.now() < until);
    expect(await beside).to.equal('done');
  });

  /** The time at which work that never ends exceeds a deadline of 100 ms. */
  const failsAt = async (pause: (uncounted: Uncounted) => Promise<unknown>): Promise<number> => {
    let failedAt = 0;
    await withVirtualTime(async (advance) => {
      const late = withinDeadline(100, (uncounted) => pause(uncounted).then(() => never));
      const failed = rejection(late).then(() => (failedAt = performance.now()));
      await advance(1_000);
      await failed;
    });
    return failedAt;
  };
  const virtualSleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    });

  /** The lengths of pauses by their start (ms). */
  const cases: readonly (readonly [
    what: string,
    pauses: Readonly<Record<number, number>>,
    expected: number,
  ])[] = [
    ['no pause', {}, 100],
    ['a pause', { 50: 60 }, 160],
    ['overlapping pauses', { 0: 300, 100: 50, 200: 300, 400: 200 }, 700],
    ['separate pauses', { 10: 200, 250: 100 }, 400],
  ];
  for (const [what, pauses, expected] of cases) {
    it(`fails after 100 ms that no pause contains, with ${what}`, async () => {
      const failedAt = await failsAt((uncounted) =>
        Promise.all(
          Object.entries(pauses).map(([from, ms]) =>
            virtualSleep(Number(from)).then(() => uncounted(virtualSleep(ms))),
          ),
        ),
      );
      expect(failedAt).to.equal(expected);
    });
  }
});
