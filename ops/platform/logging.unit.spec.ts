import { expect } from 'chai';
import { createFloodLog } from './logging.js';

describe('platform: log of frequent events', () => {
  it('logs the first events of each period, and counts the omitted ones', () => {
    const flood = createFloodLog(100, 2);
    const counts = [0, 1, 2, 99, 100, 101, 102, 250].map(flood);
    expect(counts).to.deep.equal([0, 0, null, null, 2, 0, null, 1]);
  });
});
