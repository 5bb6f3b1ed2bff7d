import { expect } from 'chai';
import { createFloodLog } from './logging.js';

describe('platform: log of frequent events', () => {
  it('takes the first ones of each period, and tells how many were left out', () => {
    const flood = createFloodLog(100, 2);
    const told = [0, 1, 2, 99, 100, 101, 102, 250].map(flood);
    expect(told).to.deep.equal([0, 0, null, null, 2, 0, null, 1]);
  });
});
