import { expect } from 'chai';
import { never } from '../../ops/platform/concurrency/deferred.js';
import { within } from '../../ops/test/support/waiting.js';
import { createAttemptSlots } from './attempt-slots.js';

describe('webhooks: the slots of attempts', () => {
  it('of healthy receivers are free while many dead ones wait for theirs', async () => {
    const inSlot = createAttemptSlots();
    for (let index = 0; index < 5_000; index += 1) void inSlot(true, () => never);
    const outcome = inSlot(false, () => Promise.resolve('delivered'));
    expect(await within(5_000, 'there is a slot', outcome)).to.equal('delivered');
  });

  it('are free again while silent receivers do not respond', async () => {
    const inSlot = createAttemptSlots();
    for (const isFailing of [true, false]) {
      for (let index = 0; index < 100; index += 1) void inSlot(isFailing, () => never);
      expect(await inSlot(isFailing, () => Promise.resolve('delivered'))).to.equal('delivered');
    }
  });

  it('are free again after an attempt that could not be made', async () => {
    const inSlot = createAttemptSlots();
    for (const isFailing of [true, false]) {
      const attempts = Array.from({ length: 200 }, () =>
        inSlot(isFailing, () => Promise.reject(new Error('no lease'))),
      );
      for (const { status } of await Promise.allSettled(attempts))
        expect(status).to.equal('rejected');
    }
  });
});
