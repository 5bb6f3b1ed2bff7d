import { expect } from 'chai';
import { topics } from '../../../schemas/events/topics.js';
import { faultsOf, summarize, type TopicState } from './log-faults.js';

const { platform, usage } = topics;

describe('platform: faults of the log on Kafka', () => {
  const range = (partition: number, first = 0, next = 10) => ({ partition, first, next });
  const usageOf = (...partitions: TopicState['partitions'] & object): TopicState => ({
    topic: usage.name,
    name: `test.${usage.name}`,
    partitions,
  });
  const whole = usageOf(range(0), range(1), range(2), range(3));
  const missing: TopicState = {
    ...whole,
    topic: platform.name,
    name: 'platform',
    partitions: null,
  };
  const kindsOf = (...args: Parameters<typeof faultsOf>) =>
    faultsOf(...args).map(({ kind }) => kind);

  it('are none if each partition has all its records', () => {
    expect(faultsOf([whole], [{ topic: usage.name, partition: 3, next: 10 }])).to.deep.equal([]);
    expect(summarize([])).to.equal(null);
  });

  it('are a missing topic, and fewer partitions than this version needs', () => {
    expect(kindsOf([missing], [])).to.deep.equal(['missing']);
    expect(kindsOf([usageOf(range(0), range(1))], [])).to.deep.equal(['fewer']);
  });

  it('are a partition that begins after offset 0, or ends before a known record', () => {
    const damaged = usageOf(range(0, 3), range(1), range(2, 0, 4), range(3, 10));
    const ends = [
      { topic: usage.name, partition: 2, next: 4 },
      { topic: usage.name, partition: 2, next: 5 },
      { topic: platform.name, partition: 1, next: 50 },
    ];
    const faults = faultsOf([damaged], ends);
    expect(faults.map(({ message }) => message)).to.deep.equal([
      'test.linklog.usage.v1/2 ends at offset 4, and had 5 records: its end was lost in Kafka',
      'test.linklog.usage.v1/0 begins at offset 3: the records before it were deleted in Kafka',
      'test.linklog.usage.v1/3 begins at offset 10: the records before it were deleted in Kafka',
    ]);
    expect(summarize(faults)).to.include({
      code: 'LOG_TRUNCATED',
      severity: 'down',
      message: `${faults[0]?.message ?? ''}; and 2 more`,
    });
  });

  it('are added partitions, which may be cut', () => {
    const added = usageOf(range(0), range(1), range(2), range(3), range(4, 5, 5));
    expect(kindsOf([added], [])).to.deep.equal(['extended']);
    expect(summarize(faultsOf([added], []))).to.include({ severity: 'degraded' });
  });

  it('are sorted by severity', () => {
    const damaged = usageOf(range(0, 3), range(1), range(2), range(3), range(4));
    expect(kindsOf([damaged, missing], [])).to.deep.equal(['missing', 'cut', 'extended']);
  });

  it('have the same key while only their offsets change', () => {
    const keyOf = (first: number) =>
      faultsOf([usageOf(range(0, first), range(1), range(2), range(3))], [])[0]?.key;
    expect(keyOf(3)).to.equal(keyOf(4));
  });
});
