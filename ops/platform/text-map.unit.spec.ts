import { expect } from 'chai';
import fc from 'fast-check';
import { TextMap } from './text-map.js';

interface Item {
  readonly code: string;
  readonly number: number;
}

/** Additions and deletions, so that the map grows and slots become free. */
const changes = fc.array(
  fc.record({ code: fc.nat(300).map((number) => `c${number}`), isDeletion: fc.boolean() }),
  { maxLength: 2_000, size: 'max' },
);

describe('platform: text map', () => {
  it('equals a Map after any additions and deletions', () => {
    fc.assert(
      fc.property(changes, (steps) => {
        const map = new TextMap<Item>(({ code }) => code);
        const model = new Map<string, Item>();
        steps.forEach(({ code, isDeletion }, number) => {
          const before = model.get(code);
          expect(map.get(code)).to.equal(before);
          expect(map.delete({ code, number }), 'another item with this text').to.equal(false);
          if (before) {
            expect(map.delete(before)).to.equal(true);
            expect(map.delete(before), 'a deleted item').to.equal(false);
            model.delete(code);
          }
          if (isDeletion) return;
          const item = { code, number };
          map.add(item);
          model.set(code, item);
        });
        for (const [code, item] of model) {
          expect(item).to.include({ code });
          expect(map.get(code)).to.equal(item);
        }
        const queried = Array.from({ length: 302 }, (_, number) => `c${number}`);
        expect(map.getAll(queried)).to.deep.equal(queried.map((code) => model.get(code)));
        expect(map.size).to.equal(model.size);
        const slots = Array.from({ length: map.slots }, (_, slot) => map.at(slot));
        expect(slots.filter((item) => item)).to.have.members([...model.values()]);
        expect(map.slots).to.be.at.most(301);
      }),
      // Each with up to 10,000 expectations.
      { numRuns: 20 },
    );
  });

  it('distinguishes texts that differ in one character or in length', () => {
    const map = new TextMap<Item>(({ code }) => code);
    const codes = ['', 'a', 'b', 'aa', 'ab', 'ba', 'aaa', 'é', '€'];
    codes.forEach((code, number) => {
      map.add({ code, number });
    });
    codes.forEach((code, number) => {
      expect(map.get(code)?.number).to.equal(number);
    });
    expect(map.get('aaaa')).to.equal(undefined);
    expect(map.getAll([...codes, 'aaaa', 'a']).map((item) => item?.number)).to.deep.equal([
      ...codes.keys(),
      undefined,
      1,
    ]);
  });
});
