import { expect } from 'chai';
import { PositionMoved, type Batch } from '../../ops/event-log/port.js';
import { topics } from '../../schemas/events/topics.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { created, importedVisit, recordOf } from '../../schemas/testing/events.js';
import { LagTracker } from './lag.js';

describe('projectors: batches that are not applied yet', () => {
  const event = created('a');
  const happened = Date.parse(event.time);
  const batchOf = (partition: number, value = recordOf(event).value): Batch => ({
    topic: topics.links.name,
    partition,
    records: [{ key: 'a', value, offset: 0 }],
  });
  const fails = async (lag: LagTracker, batch: Batch, error = new Error('unavailable')) => {
    await rejection(lag.applying(batch, () => Promise.reject(error)));
  };

  it('report the age of the oldest event until it is applied', async () => {
    const lag = new LagTracker();
    expect(lag.secondsBehind(happened + 5_000)).to.equal(0);
    let during = 0;
    await lag.applying(batchOf(0), () => {
      during = lag.secondsBehind(happened + 5_000);
      return Promise.resolve();
    });
    expect(during).to.equal(5);
    expect(lag.secondsBehind(happened + 6_000)).to.equal(0);
  });

  it('grow older while they fail, for each partition', async () => {
    const lag = new LagTracker();
    await fails(lag, batchOf(0));
    await lag.applying(batchOf(1), () => Promise.resolve());
    expect(lag.secondsBehind(happened + 9_000)).to.equal(9);
    await lag.applying(batchOf(0), () => Promise.resolve());
    expect(lag.secondsBehind(happened + 10_000)).to.equal(0);
  });

  it('do not count when another reader has moved the checkpoint', async () => {
    const lag = new LagTracker();
    await fails(lag, batchOf(0), new PositionMoved('Moved'));
    expect(lag.secondsBehind(happened + 9_000)).to.equal(0);
  });

  it('have age 0 with visits of an import, which may be years old', async () => {
    const lag = new LagTracker();
    const { value } = recordOf(importedVisit('a', { sequence: 1, time: new Date(0) }));
    const batch = { ...batchOf(0, value), topic: topics.visits.name };
    await fails(lag, batch);
    expect(lag.secondsBehind(happened + 9_000)).to.equal(0);
  });

  it('have age 0 with a broken record, or with a clock that is behind', async () => {
    const lag = new LagTracker();
    await fails(lag, batchOf(0, 'no event'));
    expect(lag.secondsBehind(happened + 9_000)).to.equal(0);
    await fails(lag, batchOf(1));
    expect(lag.secondsBehind(happened - 1_000)).to.equal(0);
  });
});
