import { expect } from 'chai';
import fc from 'fast-check';
import { scanJson } from './json-scan.js';

const names = ['__proto__', 'constructor', 'prototype'];
const scan = (text: string, levels = 32) => scanJson(text, levels, names);

const childrenOf = (value: unknown): readonly unknown[] | null =>
  typeof value === 'object' && value !== null ? Object.values(value) : null;

const levelsOf = (value: unknown): number => {
  const children = childrenOf(value);
  return children ? 1 + Math.max(0, ...children.map(levelsOf)) : 0;
};

const namesIn = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? [] : Object.keys(value ?? {})).concat(
    ...(childrenOf(value) ?? []).map((child) => namesIn(child)),
  );

/** JSON whose strings look like JSON, and whose names look like disallowed names. */
const trickyJson = (() => {
  const piece = fc.constantFrom('[', ']', '{', '}', '"', '\\', ':', ' ', '__proto__', 'prototype');
  const string = fc.oneof(
    fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join('')),
    fc.string(),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      string,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(string, tie('value')), { maxLength: 3 }).map(Object.fromEntries),
    ),
  }));
  return value;
})();

const asEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON with some characters of its strings escaped. */
const escaped = (json: string, every: number): string =>
  json.replace(/"(?:[^"\\]|\\.)*"/g, (string) =>
    string.replace(/\\(?:u.{4}|.)|[a-z_]/g, (part, at: number) =>
      part.length > 1 || at % every > 0 ? part : asEscape(part),
    ),
  );

describe('command API: scan of JSON', () => {
  it('counts the levels of the parsed value', () => {
    fc.assert(
      fc.property(trickyJson, fc.constantFrom('', ' ', '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const levels = levelsOf(value);
        expect(scan(text, levels).tooDeep).to.equal(false);
        if (levels > 0) expect(scan(text, levels - 1).tooDeep).to.equal(true);
      }),
    );
  });

  it('finds the names of the parsed value, with any escaping', () => {
    const every = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(trickyJson, fc.constantFrom('', ' '), every, (value, space, nth) => {
        const text = escaped(JSON.stringify(value, null, space), nth);
        const { found } = scan(text);
        const inValue = namesIn(JSON.parse(text)).filter((name) => names.includes(name));
        if (inValue.length === 0) expect(found).to.equal(null);
        else expect(inValue).to.include(found);
      }),
      { numRuns: 150 },
    );
  });

  it('finds names in any place, and neither in values nor in parts of names', () => {
    for (const [text, found] of [
      ['{"url":"https://example.com"}', null],
      ['{"__proto__":{}}', '__proto__'],
      ['{"url":"x","constructor" \n\t: null}', 'constructor'],
      ['{"urls":[{"url":"x"},{"prototype":1}]}', 'prototype'],
      ['{"urls":[{"a":{"b":[[{"__proto__":null}]]}}]}', '__proto__'],
      ['{"\\u005f_proto\\u005F_":1}', '__proto__'],
      [`{"${Array.from('constructor', asEscape).join('')}":1}`, 'constructor'],
      ['{"a":"\\\\","prototype":1}', 'prototype'],
      ['{"alias":"__proto__","x":["constructor"],"constructors":1,"Prototype":2}', null],
      ['{"a":"\\"__proto__\\":1"}', null],
      ['"__proto__"', null],
    ] as const) {
      JSON.parse(text);
      expect(scan(text).found, text).to.equal(found);
    }
  });

  it('terminates for any text', () => {
    const texts = ['['.repeat(33), '"'.repeat(65_537), '"\\', '\\'.repeat(65_536)];
    for (const text of [...texts, '"a":'.repeat(9_999)]) {
      expect(scan(text)).to.have.property('tooDeep', text.startsWith('['));
    }
    fc.assert(fc.property(fc.string(), (text) => !scan(text).tooDeep || text.length > 32));
  });
});
