import { expect } from 'chai';
import fc from 'fast-check';
import {
  addClick,
  addToSum,
  dimensionNames,
  emptyDocument,
  emptySum,
  mergeDocument,
  otherValue,
  readDocument,
  valuesIn,
  writeDocument,
  type ClickValues,
  type Document,
  type Value,
} from './document.js';
import { codePoint } from '../testing/code-point.js';

const nowhere = {
  ...{ referrer: null, country: null, browser: null, os: null, device: null, language: null },
  ...{ trigger: null, target: null, code: null, campaign: null },
};

const from = (referrer: string): ClickValues => valuesIn({ ...nowhere, referrer });

const value = fc.option(fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('a', '(other)')), {
  nil: null,
});
const someClick: fc.Arbitrary<ClickValues> = fc.tuple(...dimensionNames.map(() => value));

const documentOf = (clicks: readonly ClickValues[]): Document => {
  const document = emptyDocument();
  for (const click of clicks) addClick(document, click, () => [document]);
  return document;
};

const sumOf = (document: Document): readonly number[] =>
  document.map((list) =>
    list.reduce<number>((sum, item, at) => sum + (at % 2 === 0 ? 0 : Number(item)), 0),
  );

/** Chai does not distinguish the keys `null` and 'null' of a map. */
const byText = (clicks: ReadonlyMap<Value, number>): object =>
  Object.fromEntries([...clicks].map(([value, count]) => [JSON.stringify(value), count]));

const referrersIn = (document: Document): ReadonlyMap<Value, number> => {
  const sum = emptySum();
  addToSum(sum, document);
  return sum.referrers;
};

describe('schemas: document of statistics', () => {
  it('has the same text for any order of clicks, and is read as written', () => {
    fc.assert(
      fc.property(fc.array(someClick, { maxLength: 60 }), fc.nat(60), (clicks, at) => {
        const text = writeDocument(documentOf(clicks));
        const others = [clicks.slice(at), clicks.slice(0, at).reverse()].flat();
        expect(writeDocument(documentOf(others))).to.equal(text);
        expect(writeDocument(readDocument(text))).to.equal(text);
      }),
      { numRuns: 60 },
    );
  });

  it('merges to the document of all clicks', () => {
    fc.assert(
      fc.property(fc.array(someClick), fc.array(someClick), (some, more) => {
        fc.pre(some.length + more.length <= 100);
        const merged = documentOf(some);
        mergeDocument(merged, documentOf(more));
        const complete = documentOf([...some, ...more]);
        expect(writeDocument(merged)).to.equal(writeDocument(complete));
        const [added, sum] = [emptySum(), emptySum()];
        for (const part of [documentOf(some), documentOf(more)]) addToSum(added, part);
        addToSum(sum, complete);
        for (const name of dimensionNames) {
          expect(byText(added[name])).to.deep.equal(byText(sum[name]));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('keeps the first 100 values of a day, besides null', () => {
    const numbered = Array.from({ length: 130 }, (_, number) => from(`${number}.example.com`));
    const document = documentOf([valuesIn(nowhere), ...numbered, ...numbered, from('(other)')]);
    const referrers = referrersIn(document);
    expect(referrers.size).to.equal(102);
    expect(referrers.get(null)).to.equal(1);
    expect(referrers.get('99.example.com')).to.equal(2);
    expect(referrers.has('100.example.com')).to.equal(false);
    expect(referrers.get(otherValue)).to.equal(61);
    expect(sumOf(document)).to.deep.equal(dimensionNames.map(() => 262));
  });

  it('counts a value as (other) in a quarter if it is (other) in its day', () => {
    const earlier = documentOf(
      Array.from({ length: 99 }, (_, number) => from(`${number}.example.com`)),
    );
    const quarter = emptyDocument();
    for (const click of [from('a.example.com'), from('b.example.com'), from('5.example.com')]) {
      addClick(quarter, click, () => [earlier, quarter]);
    }
    expect(quarter[0]).to.deep.equal([otherValue, 1, '5.example.com', 1, 'a.example.com', 1]);
  });
});
