import { expect } from 'chai';
import { topics } from '../../../schemas/events/topics.js';
import { codeIn } from '../../test/conformance/event-log/events.js';
import { noneStalled, StalledPartitions } from './stalled-partitions.js';

const links = topics.links.name;
const accounts = topics.accounts.name;

describe('platform: stalled partitions of the outbox', () => {
  it('include the subjects of their partitions only', () => {
    const stalled = new StalledPartitions([
      { topic: links, partition: 3 },
      { topic: links, partition: 4 },
    ]);
    expect(stalled.areNone).to.equal(false);
    expect(stalled.includes(links, codeIn(links, 3))).to.equal(true);
    expect(stalled.includes(links, codeIn(links, 5))).to.equal(false);
    expect(stalled.includes(accounts, codeIn(links, 3))).to.equal(false);
    expect(stalled.includesAll(links)).to.equal(false);
  });

  it('include all of a topic when each of its partitions is stalled', () => {
    const partitions = Array.from({ length: topics.links.partitions }, (_, partition) => partition);
    const stalled = new StalledPartitions([
      ...partitions.map((partition) => ({ topic: links, partition })),
    ]);
    expect(stalled.includesAll(links)).to.equal(true);
    expect(stalled.includesAll(accounts)).to.equal(false);
    expect(
      new StalledPartitions([{ topic: accounts, partition: 0 }]).includesAll(accounts),
    ).to.equal(true);
  });

  it('are none without unsent events', () => {
    expect(noneStalled.areNone).to.equal(true);
    expect(noneStalled.includesAll(links)).to.equal(false);
  });
});
