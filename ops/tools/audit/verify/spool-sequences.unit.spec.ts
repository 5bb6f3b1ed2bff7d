import { expect } from 'chai';
import fc from 'fast-check';
import { SpoolSequences } from './spool-sequences.js';

const partitions = 4;

const visit = fc.record({
  partition: fc.nat({ max: partitions - 1 }),
  isLost: fc.boolean(),
  repeats: fc.nat({ max: 2 }),
});

describe('audit verify: sequences of spools', () => {
  it('counts the missing visits in any order of the partitions', () => {
    fc.assert(
      fc.property(
        fc.array(visit, { maxLength: 60 }),
        fc.shuffledSubarray([0, 1, 2, 3], { minLength: partitions }),
        (visits, order) => {
          const spools = new SpoolSequences();
          const sent = visits.map((sentVisit, index) => ({ ...sentVisit, sequence: index + 1 }));
          const stored = sent.filter(({ isLost }) => !isLost);
          for (const partition of order) {
            const records = stored.filter((record) => record.partition === partition);
            for (const { sequence } of records) spools.add(partition, 'spool', sequence);
            // A repeated portion follows all earlier portions.
            for (const { sequence, repeats } of records) {
              for (let count = 0; count < repeats; count += 1) {
                spools.add(partition, 'spool', sequence);
              }
            }
          }
          const highest = Math.max(0, ...stored.map(({ sequence }) => sequence));
          const lost = sent.filter(({ isLost, sequence }) => isLost && sequence < highest).length;
          expect(spools.missing().reduce((sum, { count }) => sum + count, 0)).to.equal(lost);
        },
      ),
    );
  });

  it('counts only missing visits after closing', () => {
    const spools = new SpoolSequences();
    spools.add(0, 'spool', 1);
    spools.add(1, 'spool', 4);
    expect(spools.missing()[0]).to.deep.include({ origin: 'spool', count: 2 });
    spools.close();
    spools.add(0, 'spool', 2);
    spools.add(0, 'spool', 5);
    spools.add(1, 'spool', 4);
    spools.add(0, 'other', 7);
    expect(spools.missing()).to.have.length(1);
    expect(spools.missing()[0]).to.deep.include({ origin: 'spool', count: 1 });
  });
});
