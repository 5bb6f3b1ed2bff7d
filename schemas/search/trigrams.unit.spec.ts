import { expect } from 'chai';
import fc from 'fast-check';
import { parseUrl } from '../parse-url.js';
import { foldCase } from './fold-case.js';
import { hashesOfLinks, hashesOfQuery } from './trigrams.js';

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

describe('schemas: hashes of three characters', () => {
  it('of each part of each text, in any case, and of the host, are those of the link', () => {
    fc.assert(
      fc.property(
        someLink,
        fc.nat(),
        fc.integer({ min: 3, max: 20 }),
        fc.boolean(),
        (link, at, length, upper) => {
          const hashes = hashesOfLinks([link]);
          const host = parseUrl(link.url)?.hostname;
          for (const whole of [link.code, link.url, link.title ?? '', link.note ?? '']) {
            const from = whole.length === 0 ? 0 : at % whole.length;
            const part = whole.slice(from, from + length);
            // A half of a character has a case of its own.
            if (part.length < 3 || !part.isWellFormed()) continue;
            const asked = upper ? part.toUpperCase() : part.toLowerCase();
            if (!foldCase(whole).includes(foldCase(asked))) continue;
            expect([...hashes]).to.include.members([...hashesOfQuery(asked, host)]);
          }
        },
      ),
    );
  });

  it('of other parts are others', () => {
    const link = { code: 'code1024', url: 'https://a.example', title: null, note: null };
    const hashes = hashesOfLinks([link]);
    const others = [...hashesOfQuery('!!!', 'b.test')].filter((hash) => !hashes.has(hash));
    // Those of `://`.
    expect(others).to.have.lengthOf(hashesOfQuery('!!!', 'b.test').size - 1);
  });
});
