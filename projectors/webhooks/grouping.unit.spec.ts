import { expect } from 'chai';
import { feedEventOf } from '../../ops/feed/filter.js';
import { created, importedVisit, noon } from '../../schemas/testing/events.js';
import { timeOfFirst } from './grouping.js';

describe('webhooks: the time of the first event of a portion', () => {
  it('is the time of the event', () => {
    expect(timeOfFirst([feedEventOf(created('a'), 0, 0)])).to.equal(noon.getTime());
    expect(timeOfFirst([])).to.equal(null);
  });

  it('is the time of the import for a visit that is years older', () => {
    const visit = importedVisit('a', { sequence: 1, time: new Date('2019-01-01') });
    expect(timeOfFirst([feedEventOf(visit, 9, 0)])).to.equal(noon.getTime());
  });
});
