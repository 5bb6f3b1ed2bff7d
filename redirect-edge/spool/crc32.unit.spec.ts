import { expect } from 'chai';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import { crc32Of } from './crc32.js';

describe('redirect edge: CRC-32', () => {
  it('is equal to that of zlib for any range of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300), (bytes, a, b) => {
        const [start = 0, end = 0] = [a, b]
          .map((offset) => Math.min(offset, bytes.length))
          .sort((x, y) => x - y);
        expect(crc32Of(bytes, start, end)).to.equal(crc32(bytes.subarray(start, end)));
      }),
      { numRuns: 1_000 },
    );
  });
});
