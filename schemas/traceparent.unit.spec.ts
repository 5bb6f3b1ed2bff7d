import { expect } from 'chai';
import fc from 'fast-check';
import { someTraceparent } from './testing/events.js';
import { traceIdOf, traceparent, traceparentOf } from './traceparent.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const valid = `00-${traceId}-${parentId}-01`;

describe('traceparent', () => {
  it('accepts the header of version 00', () => {
    expect(traceparentOf(valid)).to.equal(valid);
    expect(traceIdOf(valid)).to.equal(traceId);
    fc.assert(
      fc.property(someTraceparent, (header) => {
        expect(traceparentOf(header)).to.equal(header);
        expect(traceparent.safeParse(header).success).to.equal(true);
      }),
    );
  });

  it('reads the fields of version 00 of later versions', () => {
    const later = [
      `01-${traceId}-${parentId}-01`,
      `cc-${traceId}-${parentId}-01-what-the-future-will-be-like`,
      `fe-${traceId}-${parentId}-01-`,
    ];
    for (const header of later) expect(traceparentOf(header), header).to.equal(valid);
  });

  it('removes unknown flags', () => {
    expect(traceparentOf(`00-${traceId}-${parentId}-ff`)).to.equal(`00-${traceId}-${parentId}-03`);
    expect(traceparentOf(`00-${traceId}-${parentId}-08`)).to.equal(`00-${traceId}-${parentId}-00`);
  });

  it('ignores an invalid header', () => {
    const invalid = [
      ...['', ' ', '00', traceId, `00-${traceId}-${parentId}`, `00-${traceId}-${parentId}-1`],
      `ff-${traceId}-${parentId}-01`,
      `0g-${traceId}-${parentId}-01`,
      `00-${'0'.repeat(32)}-${parentId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `cc-${'0'.repeat(32)}-${parentId}-01`,
      `00-${traceId.toUpperCase()}-${parentId}-01`,
      `00-${traceId}-${parentId}-01-more`,
      `cc-${traceId}-${parentId}-01.more`,
      `cc-${traceId}-${parentId}-012`,
      `00-${traceId}-${parentId}-0G`,
      `${valid}\n`,
      `${valid}, ${valid}`,
    ];
    for (const header of invalid) expect(traceparentOf(header), header).to.equal(undefined);
    expect(traceparentOf(undefined)).to.equal(undefined);
    expect(traceparentOf([valid, valid])).to.equal(undefined);
  });
});
