import { expect } from 'chai';
import fc from 'fast-check';
import { unescapeFully } from './canonical-url.js';

/** The definition: unescape every `%XX` until nothing changes. */
const unescapeInRounds = (text: string): string => {
  const unescaped = text.replace(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return unescaped === text ? text : unescapeInRounds(unescaped);
};

describe('command API: canonical URLs', () => {
  it('are unescaped until nothing changes', () => {
    const pieces = Array.from('%%%%%%0123456789abcdefABCDEFgz/.').concat('%25', '%2', '%32', '%35');
    const piece = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (drawn) => {
        const text = drawn.join('');
        expect(unescapeFully(text)).to.equal(unescapeInRounds(text));
      }),
      { numRuns: 300 },
    );
    for (const text of ['', '%', '%2', '%%', 'a%zz', '%%32%35', '%%%323%355', '%00', '%ff%C3']) {
      expect(unescapeFully(text)).to.equal(unescapeInRounds(text));
    }
  });

  // In rounds, this takes 2^36 steps, and so exceeds the test's timeout.
  it('are unescaped in steps linear in their length', () => {
    expect(unescapeFully(`/%${'25'.repeat(2 ** 18)}61`)).to.equal('/a');
  });
});
