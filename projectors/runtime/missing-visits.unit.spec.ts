import { expect } from 'chai';
import fc from 'fast-check';
import { groupBy } from '../../ops/platform/group-by.js';
import { maxPortion } from '../../schemas/events/spooled-visit.js';
import { highestOf, recount, SpoolWatch, type Spool, type SpoolCount } from './missing-visits.js';
import { blockOf, blockSize, SpoolBlocks } from './spool-blocks.js';

const partitions = 3;
const minuteMs = 60_000;
const unknown: SpoolCount = { accountedThrough: 0, missingBefore: 0, missingAfter: 0 };

/** A spool that ships portions into a log, and readers that apply each partition at their own speed. */
class Simulation {
  readonly #log: number[][] = Array.from({ length: partitions }, () => []);
  readonly #offsets = new Array<number>(partitions).fill(0);
  readonly #marks = new Array<number>(partitions).fill(0);
  #blocks = new Map<string, { block: number; visits: number; highest: number }>();
  #count = unknown;
  #sequence = 0;
  readonly watch = new SpoolWatch();
  lost = 0;

  /** Ships a portion several times. */
  ship(visits: number, isLost: (sequence: number) => boolean = () => false, times = 1): void {
    const shipped = Array.from({ length: visits }, (_, index) => this.#sequence + index + 1);
    this.#sequence += visits;
    const stored = shipped.filter((sequence) => !isLost(sequence));
    this.lost += visits - stored.length;
    for (let time = 0; time < times; time += 1)
      for (const sequence of stored) this.#log[(sequence * 7) % partitions]?.push(sequence);
  }

  /** Applies records of a partition. */
  apply(partition: number, records: number): void {
    const from = this.#offsets[partition] ?? 0;
    const batch = (this.#log[partition] ?? []).slice(from, from + records);
    this.#offsets[partition] = from + batch.length;
    const counted = new SpoolBlocks();
    for (const sequence of batch) {
      if (sequence <= (this.#marks[partition] ?? 0)) continue;
      this.#marks[partition] = sequence;
      counted.add('spool', sequence);
    }
    for (const { block, visits, highest } of counted.blocks()) {
      const key = `${partition}/${block}`;
      const before = this.#blocks.get(key)?.visits ?? 0;
      this.#blocks.set(key, { block, visits: before + visits, highest });
    }
  }

  applyAll(): void {
    for (let partition = 0; partition < partitions; partition += 1) this.apply(partition, Infinity);
  }

  #spool(): Spool {
    const rows = groupBy([...this.#blocks.values()], ({ block }) => block);
    const blocks = Array.from(rows, ([block, parts]) => ({
      block,
      visits: parts.reduce((sum, { visits }) => sum + visits, 0),
      highest: Math.max(...parts.map(({ highest }) => highest)),
    })).sort((a, b) => a.block - b.block);
    return { source: 'spool', ...this.#count, blocks };
  }

  /** @returns the number of missing visits */
  async look(now: number): Promise<number> {
    const offsets = this.#offsets.map((offset, partition) => ({ partition, offset }));
    const spool = this.#spool();
    const counted = this.watch.count(now, offsets, spool.blocks.length > 0 ? [spool] : []);
    for (const { count } of counted) {
      this.#count = count;
      for (const [key, { block }] of this.#blocks) {
        if (block < count.accountedThrough / blockSize - 1 + 1e-9) this.#blocks.delete(key);
      }
    }
    await this.watch.observe(now, counted, () =>
      Promise.resolve(this.#log.map((records, partition) => ({ partition, next: records.length }))),
    );
    return this.#count.missingBefore + this.#count.missingAfter;
  }

  get rows(): number {
    return this.#blocks.size;
  }
}

const step = fc.oneof(
  fc.record({
    type: fc.constant('ship' as const),
    visits: fc.integer({ min: 1, max: maxPortion }),
    lost: fc.constantFrom('none', 'some', 'partition', 'all'),
    times: fc.integer({ min: 1, max: 2 }),
  }),
  fc.record({
    type: fc.constant('apply' as const),
    partition: fc.nat({ max: partitions - 1 }),
    records: fc.integer({ min: 1, max: 4_000 }),
  }),
  fc.record({ type: fc.constant('look' as const) }),
);

const lossOf: Record<string, (sequence: number) => boolean> = {
  none: () => false,
  some: (sequence) => sequence % 97 === 0,
  partition: (sequence) => (sequence * 7) % partitions === 1,
  all: () => true,
};

describe('projectors: missing visits of spools', () => {
  it('are exactly those that were lost, and never more, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const simulation = new Simulation();
        let now = 0;
        for (const action of steps) {
          now += 30_000;
          if (action.type === 'ship')
            simulation.ship(action.visits, lossOf[action.lost], action.times);
          else if (action.type === 'apply') simulation.apply(action.partition, action.records);
          else expect(await simulation.look(now)).to.be.at.most(simulation.lost);
        }
        simulation.ship(1);
        simulation.applyAll();
        await simulation.look(now);
        expect(await simulation.look(now + minuteMs)).to.equal(simulation.lost);
        expect(simulation.rows).to.be.at.most(2 * partitions);
      }),
      { numRuns: 150 },
    );
  });

  it('are reported when their block is closed and read', async () => {
    const simulation = new Simulation();
    simulation.ship(10, (sequence) => sequence === 3);
    const missing: number[] = [];
    for (let portion = 0; portion < 4; portion += 1) {
      simulation.ship(maxPortion);
      simulation.applyAll();
      missing.push(await simulation.look(portion));
    }
    expect([...missing, await simulation.look(3)]).to.deep.equal([0, 0, 0, 0, 1]);
  });

  it('are not reported before each partition was read up to the end of the log', async () => {
    const simulation = new Simulation();
    simulation.ship(30);
    simulation.apply(0, 10);
    await simulation.look(0);
    expect(await simulation.look(10 * minuteMs)).to.equal(0);
    simulation.applyAll();
    expect(await simulation.look(20 * minuteMs)).to.equal(0);
  });

  it('of an open block are not missing any more when they arrive', () => {
    const lacking: Spool = {
      ...{ source: 'spool', ...unknown },
      blocks: [{ block: 0, visits: 7, highest: 10 }],
    };
    const quiet = recount(lacking, { finalThrough: 0, isQuiet: true });
    expect(quiet.missingAfter).to.equal(3);
    const arrived = { ...lacking, ...quiet, blocks: [{ block: 0, visits: 9, highest: 10 }] };
    const next = recount(arrived, { finalThrough: 0, isQuiet: false });
    expect(next.missingAfter).to.equal(1);
  });

  it('include whole blocks', () => {
    const far = 5 * blockSize + 1;
    const spool: Spool = {
      ...{ source: 'spool', ...unknown },
      blocks: [{ block: blockOf(far), visits: 1, highest: far }],
    };
    expect(highestOf(spool)).to.equal(far);
    const count = recount(spool, { finalThrough: 4 * blockSize, isQuiet: false });
    expect(count).to.deep.equal({
      ...{ accountedThrough: 4 * blockSize, missingBefore: 4 * blockSize, missingAfter: 0 },
    });
    expect(recount(spool, { finalThrough: 0, isQuiet: true }).missingAfter).to.equal(5 * blockSize);
  });
});
