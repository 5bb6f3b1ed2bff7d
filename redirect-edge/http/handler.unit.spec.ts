import { expect } from 'chai';
import { createFloodLog } from './handler.js';

describe('the log of a flood', () => {
  it('tells at once, and then how often it was in the meantime', () => {
    const told: number[] = [];
    const note = createFloodLog(100, (times) => told.push(times));
    for (const now of [0, 1, 2, 99, 100, 101, 250]) note(now);
    expect(told).to.deep.equal([1, 4, 2]);
  });
});
