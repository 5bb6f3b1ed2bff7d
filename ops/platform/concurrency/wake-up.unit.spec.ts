import { expect } from 'chai';
import { endsWithin } from '../../test/support/waiting.js';
import { WakeUp } from './wake-up.js';

describe('platform: wake-up', () => {
  it('ends a sleep', async () => {
    const wakeUp = new WakeUp();
    const sleeping = wakeUp.sleep(60_000);
    expect(await endsWithin(sleeping, 5)).to.be.false;
    wakeUp.wake();
    await sleeping;
  });

  it('is kept until the next sleep, and counts once', async () => {
    const wakeUp = new WakeUp();
    wakeUp.wake();
    wakeUp.wake();
    await wakeUp.sleep();
    expect(await endsWithin(wakeUp.sleep(), 5)).to.be.false;
  });

  it('is awaited for a limited time', async () => {
    await new WakeUp().sleep(1);
  });
});
