import { expect } from 'chai';
import { writeEvent } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
import { created } from '../../schemas/testing/events.js';
import { readRecord } from './read-record.js';

describe('projectors: reading a record', () => {
  const event = created('spring');
  const value = writeEvent(event);

  it('returns its event, also for a cached text', () => {
    for (const offset of [1, 2]) {
      const record = { offset, key: 'spring', value };
      expect(readRecord(topics.links.name, record)).to.deep.equal({
        ...{ record, subject: 'spring', event },
      });
    }
  });

  it('checks key and topic of each record, also for a cached text', () => {
    const misplaced = [
      [topics.links.name, 'spring'],
      [topics.links.name, 'autumn'],
      [topics.accounts.name, 'spring'],
    ] as const;
    const read = misplaced.map(([topic, key]) => readRecord(topic, { offset: 1, key, value }));
    expect(read.map((incoming) => 'error' in incoming)).to.deep.equal([false, true, true]);
  });
});
