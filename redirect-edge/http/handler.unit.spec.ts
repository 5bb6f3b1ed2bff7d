import { expect } from 'chai';
import { createFloodLog } from './handler.js';

describe('redirect edge: log of frequent events', () => {
  it('reports the first event at once, and then the number since the last report', () => {
    const told: number[] = [];
    const note = createFloodLog(100, (times) => told.push(times));
    for (const now of [0, 1, 2, 99, 100, 101, 250]) note(now);
    expect(told).to.deep.equal([1, 4, 2]);
  });
});
