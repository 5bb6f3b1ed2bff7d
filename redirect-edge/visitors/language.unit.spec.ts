import { expect } from 'chai';
import fc from 'fast-check';
import { languageOf } from './language.js';

describe('redirect edge: language', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['de', 'de'],
    ['de-CH,de;q=0.9,en;q=0.8', 'de'],
    ['EN-us', 'en'],
    ['en;q=0.5, fr', 'fr'],
    [' fil-PH', 'fil'],
    ['zh-Hant-TW', 'zh'],
    ['*', null],
    ['i-klingon', null],
    ['x-jane', null],
    ['jane-doe', null],
    ['deutsch', null],
    ['d3', null],
    [', de', 'de'],
    ['en;q=0.8,de;q=0.9', 'de'],
    ['de;q=0,en', 'en'],
    ['de;q=0', null],
    ['en;q=0.8, de;q=0.8', 'en'],
    ['en ; q=0.5 , fr;q=1.000', 'fr'],
    ['iw-IL,en;q=0.5', 'he'],
    ['in', 'id'],
    ['ji', 'yi'],
    ['und', null],
    ['*;q=0.9,de;q=0.5', null],
    ['de;q=high,en;q=0.1', 'en'],
    ['', null],
  ];
  for (const [header, language] of cases) {
    it(`is ${language ?? 'unknown'} for "${header}"`, () => {
      expect(languageOf(header)).to.equal(language);
    });
  }

  it('is two or three letters, or unknown', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(languageOf(header) ?? 'no').to.match(/^[a-z]{2,3}$/);
      }),
    );
  });
});
