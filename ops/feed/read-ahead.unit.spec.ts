import { expect } from 'chai';
import { eventually } from '../test/support/waiting.js';
import { createReadAheads } from './read-ahead.js';
import type { PartitionEvents } from './stored-events.js';

const visitsAt = (index: number, ...offsets: readonly number[]): PartitionEvents => ({
  index,
  events: offsets.map((offset) => ({
    ...{ index, offset, type: 'linklog.LinkVisited.v4', subject: 'a', time: '', json: '{}' },
  })),
  scanned: 100,
  atEnd: true,
});

describe('feed: visits in memory', () => {
  it('are returned from an offset on, until none follow', () => {
    const ahead = createReadAheads().open();
    expect(ahead.take(9, 0)).to.equal(null);
    ahead.keep(visitsAt(9, 3, 5, 8));
    expect(ahead.take(9, 0)).to.deep.equal(visitsAt(9, 3, 5, 8));
    expect(ahead.take(9, 4)).to.deep.equal(visitsAt(9, 5, 8));
    expect(ahead.take(10, 4)).to.equal(null);
    expect(ahead.take(9, 9)).to.equal(null);
    expect(ahead.take(9, 4), 'forgotten').to.equal(null);
  });

  it('are those of at most 4 followers; others read just their portion', () => {
    const readAheads = createReadAheads();
    const followers = Array.from({ length: 5 }, () => readAheads.open());
    for (const follower of followers.slice(0, 4)) follower.keep(visitsAt(9, 1));
    const last = followers[4];
    expect(followers[0]?.limitFor(1_000)).to.equal(5_000);
    expect(last?.limitFor(1_000)).to.equal(1_000);
    followers[1]?.clear();
    expect(last?.limitFor(1_000)).to.equal(5_000);
    last?.keep(visitsAt(9, 1));
    followers[2]?.take(9, 2);
    expect(readAheads.open().limitFor(1_000)).to.equal(5_000);
  });

  it('are dropped if the follower takes none; it then reads just its next portion', async () => {
    const ahead = createReadAheads(1).open();
    expect(ahead.limitFor(250)).to.equal(5_000);
    ahead.keep(visitsAt(9, 1, 2));
    await eventually('the visits are dropped', () => ahead.limitFor(250) === 250);
    expect(ahead.take(9, 0)).to.equal(null);
    ahead.keep(visitsAt(9, 1, 2));
    expect(ahead.limitFor(250)).to.equal(5_000);
    ahead.clear();
  });
});
