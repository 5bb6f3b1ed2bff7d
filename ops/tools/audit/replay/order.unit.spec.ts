import { expect } from 'chai';
import fc from 'fast-check';
import { topics } from '../../../../schemas/events/topics.js';
import { at, visited } from '../../../../schemas/testing/events.js';
import { rejection } from '../../../test/support/waiting.js';
import { mergeInOrder, type PartitionEvents, type PlacedEvent } from './order.js';

const names = [topics.links.name, topics.visits.name] as const;

interface Place {
  readonly topic: (typeof names)[number];
  readonly partition: number;
}

/** Partitions whose events have these times, in seconds, at the offsets 0, 1, 2 … */
const partitionOf = ({ topic, partition }: Place, seconds: readonly number[]): PlacedEvent[] =>
  seconds.map((second, offset) => ({
    topic,
    partition,
    offset,
    event: visited(`${topic}-${partition}`, offset + 1, { time: at(second) }),
  }));

/** In batches of such sizes, empty ones among them; each comes when others had their turn. */
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
  for await (const piece of mergeInOrder(partitions)) events.push(...piece);
  return events;
};

const nameOf = ({ topic, partition, offset }: PlacedEvent): string =>
  `${topic}/${partition}@${offset}`;

/** The stated order, by definition: each event has the latest time that its partition had so far. */
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
      place: fc.record({
        topic: fc.constantFrom(...names),
        partition: fc.integer({ min: 0, max: 11 }),
      }),
      // Few different ones, so that many are equal, and not in order.
      seconds: fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }),
      sizes: someSizes,
      otherSizes: someSizes,
    }),
    { maxLength: 8, selector: ({ place }) => `${place.topic}/${place.partition}` },
  );

  it('is the stated one however batches come, with nothing lost and nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(somePartitions, async (partitions) => {
        const events = partitions.map(({ place, seconds }) => partitionOf(place, seconds));
        const expected = byDefinition(events).map(nameOf);
        const one = partitions.map(({ sizes }, index) => inBatches(events[index] ?? [], sizes));
        const other = partitions
          .map(({ otherSizes }, index) => inBatches(events[index] ?? [], otherSizes))
          .reverse();
        expect((await merged(one)).map(nameOf)).to.deep.equal(expected);
        expect((await merged(other)).map(nameOf)).to.deep.equal(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is by time, then topic, then partition, and a late event is behind those before it', async () => {
    const all = [
      partitionOf({ topic: names[1], partition: 0 }, [1, 5, 2]),
      partitionOf({ topic: names[0], partition: 10 }, [1, 6]),
      partitionOf({ topic: names[0], partition: 9 }, [1, 3]),
    ];
    expect((await merged(all.map((events) => inBatches(events, [1])))).map(nameOf)).to.deep.equal([
      'linklog.links.v1/9@0',
      'linklog.links.v1/10@0',
      'linklog.visits.v1/0@0',
      'linklog.links.v1/9@1',
      'linklog.visits.v1/0@1',
      'linklog.visits.v1/0@2',
      'linklog.links.v1/10@1',
    ]);
  });

  it('fails as a partition fails, and ends the reading of the others', async () => {
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
      await Promise.reject(new Error('the log is away'));
    }
    const failure = await rejection(merged([failing(), long()]));
    expect(failure).to.be.instanceOf(Error).with.property('message', 'the log is away');
    expect(ended).to.be.true;
  });
});
