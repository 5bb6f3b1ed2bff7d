import fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };

/**
 * Any code point of Unicode except surrogates, often printable ASCII: a `unit` of `fc.string`. The unit `binary` of
 * fast-check builds a table of all code points in each process, which takes a second.
 */
export const codePoint = fc
  .oneof(
    { weight: 1, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 0x10ffff - surrogates.count }) },
  )
  .map((number) =>
    String.fromCodePoint(number < surrogates.first ? number : number + surrogates.count),
  );
