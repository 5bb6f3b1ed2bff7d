import { expect } from 'chai';
import fc from 'fast-check';
import { parseUrl } from '../parse-url.js';
import { foldCase } from './fold-case.js';
import {
  blockCount,
  blocksIn,
  readStarts,
  rowBytes,
  rowsOfQuery,
  Signature,
  writeStarts,
} from './signature.js';

const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const someLink = fc.record({
  code: fc.stringMatching(/^[A-Za-z0-9_-]{3,12}$/),
  url: fc.oneof(
    fc.webUrl(),
    fc.constant('HTTP://0x7F.1/a'),
    fc.constant('http://b\u00fccher.example'),
  ),
  title: fc.option(text),
  note: fc.option(text),
});

const rowsOf = ({ bytes }: Signature, rows: readonly number[]): readonly Buffer[] =>
  rows.map((row) => bytes.subarray(row * rowBytes, (row + 1) * rowBytes));

describe('schemas: signatures of links', () => {
  it('have each part of each text, in any case, and the host', () => {
    fc.assert(
      fc.property(
        someLink,
        fc.nat(blockCount - 1),
        fc.nat(),
        fc.integer({ min: 3, max: 20 }),
        fc.boolean(),
        (link, block, at, length, upper) => {
          const signature = new Signature();
          signature.add(block, link);
          const host = parseUrl(link.url)?.hostname;
          for (const whole of [link.code, link.url, link.title ?? '', link.note ?? '']) {
            const from = whole.length === 0 ? 0 : at % whole.length;
            const part = whole.slice(from, from + length);
            // A half of a character has a case of its own.
            if (part.length < 3 || !part.isWellFormed()) continue;
            const asked = upper ? part.toUpperCase() : part.toLowerCase();
            if (!foldCase(whole).includes(foldCase(asked))) continue;
            const rows = rowsOfQuery(asked, host);
            expect(blocksIn(rowsOf(signature, rows))).to.deep.equal([block]);
          }
        },
      ),
    );
  });

  it('leave out blocks without the part', () => {
    const signature = new Signature();
    for (let block = 0; block < blockCount; block += 2) {
      signature.add(block, {
        code: `code${block}`,
        url: 'https://a.example',
        title: null,
        note: null,
      });
    }
    const asked = (part: string) => blocksIn(rowsOf(signature, rowsOfQuery(part, undefined)));
    expect(asked('A.EXAMPLE')).to.have.lengthOf(blockCount / 2);
    expect(asked('code1024')).to.include(1_024).and.to.have.lengthOf.below(100);
    expect(asked('b.example')).to.have.lengthOf.below(100);
  });

  it('keep when their blocks begin', () => {
    const starts = [Date.parse('2026-05-20T12:00:00.001Z'), 0, 8.64e15];
    expect(readStarts(writeStarts(starts))).to.deep.equal(starts);
  });
});
