import { expect } from 'chai';
import fc from 'fast-check';
import { topics } from '../../../../schemas/events/topics.js';
import { at, visited } from '../../../../schemas/testing/events.js';
import { rejection } from '../../../test/support/waiting.js';
import { mergeInOrder, type PartitionEvents, type PlacedEvent } from './order.js';

const names = [topics.links.name, topics.visits.name] as const;

interface Partition {
  readonly topic: (typeof names)[number];
  readonly partition: number;
}

/** Creates the events of a partition at these times (s), with the offsets 0, 1, 2 … */
const partitionOf = ({ topic, partition }: Partition, seconds: readonly number[]): PlacedEvent[] =>
  seconds.map((second, offset) => ({
    topic,
    partition,
    offset,
    event: visited(`${topic}-${partition}`, offset + 1, { time: at(second) }),
  }));

/** Yields batches of these sizes, which may be 0, asynchronously. */
async function* inBatches(
  events: readonly PlacedEvent[],
  sizes: readonly number[],
): PartitionEvents {
  let from = 0;
  for (const size of sizes) {
    await Promise.resolve();
    yield events.slice(from, from + size);
    from += size;
  }
  yield events.slice(from);
}

const merged = async (partitions: readonly PartitionEvents[]): Promise<PlacedEvent[]> => {
  const events: PlacedEvent[] = [];
  for await (const chunk of mergeInOrder(partitions)) events.push(...chunk);
  return events;
};

const nameOf = ({ topic, partition, offset }: PlacedEvent): string =>
  `${topic}/${partition}@${offset}`;

/** The documented order: each event is sorted by the latest time that its partition has reached. */
const byDefinition = (partitions: readonly (readonly PlacedEvent[])[]): PlacedEvent[] =>
  partitions
    .flatMap((events) => {
      let latest = '';
      return events.map((placed) => {
        if (placed.event.time > latest) latest = placed.event.time;
        return { placed, latest };
      });
    })
    .sort((a, b) => {
      if (a.latest !== b.latest) return a.latest < b.latest ? -1 : 1;
      if (a.placed.topic !== b.placed.topic) return a.placed.topic < b.placed.topic ? -1 : 1;
      return a.placed.partition - b.placed.partition || a.placed.offset - b.placed.offset;
    })
    .map(({ placed }) => placed);

describe('audit: order of a replay', () => {
  const someSizes = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 12 });
  const somePartitions = fc.uniqueArray(
    fc.record({
      id: fc.record({
        topic: fc.constantFrom(...names),
        partition: fc.integer({ min: 0, max: 11 }),
      }),
      // Few values, so that many are equal or out of order.
      seconds: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }),
      sizes: someSizes,
      otherSizes: someSizes,
    }),
    { maxLength: 8, selector: ({ id }) => `${id.topic}/${id.partition}` },
  );

  it('is the documented order for any batches and any order of the partitions', async () => {
    await fc.assert(
      fc.asyncProperty(somePartitions, async (partitions) => {
        const events = partitions.map(({ id, seconds }) => partitionOf(id, seconds));
        const expected = byDefinition(events).map(nameOf);
        const batches = partitions.map(({ sizes }, index) => inBatches(events[index] ?? [], sizes));
        const otherBatches = partitions
          .map(({ otherSizes }, index) => inBatches(events[index] ?? [], otherSizes))
          .reverse();
        expect((await merged(batches)).map(nameOf)).to.deep.equal(expected);
        expect((await merged(otherBatches)).map(nameOf)).to.deep.equal(expected);
      }),
      { numRuns: 25 },
    );
  });

  it('fails with the error of a partition, and stops reading the others', async () => {
    let ended = false;
    async function* long(): PartitionEvents {
      try {
        for (let second = 0; second < 10_000; second += 1) {
          await Promise.resolve();
          yield partitionOf({ topic: names[0], partition: 1 }, [second]);
        }
      } finally {
        ended = true;
      }
    }
    async function* failing(): PartitionEvents {
      yield partitionOf({ topic: names[0], partition: 2 }, [2]);
      await Promise.reject(new Error('the log is unavailable'));
    }
    const failure = await rejection(merged([failing(), long()]));
    expect(failure).to.be.instanceOf(Error).with.property('message', 'the log is unavailable');
    expect(ended).to.be.true;
  });
});
