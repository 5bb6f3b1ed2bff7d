import { expect } from 'chai';
import { feedEventNames } from '../../schemas/feed.js';
import { eventNames } from './event-names.js';

describe('event names of the console', () => {
  it('are those of the feed', () => {
    expect(eventNames).to.deep.equal(feedEventNames);
  });
});
