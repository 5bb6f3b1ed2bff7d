import { expect } from 'chai';
import { compareRows, listOf, type Row } from './comparison.js';

const rowsOf = (clicks: Readonly<Record<string, number>>): Row[] =>
  Object.entries(clicks).map(([value, count]) => ({ value, clicks: count }));

describe('the comparison of a breakdown', () => {
  it('has the clicks of both periods, and 0 for values of only one', () => {
    expect(compareRows(rowsOf({ DE: 5, NP: 2 }), rowsOf({ FR: 4, DE: 3 }))).to.deep.equal([
      { value: 'DE', clicks: 5, before: 3 },
      { value: 'NP', clicks: 2, before: 0 },
      { value: 'FR', clicks: 0, before: 4 },
    ]);
  });

  it('includes values that were not recorded', () => {
    const [row] = compareRows([{ value: null, clicks: 1 }], [{ value: null, clicks: 7 }]);
    expect(row).to.deep.equal({ value: null, clicks: 1, before: 7 });
  });

  it('does not know values that may be among the others', () => {
    const earlier = rowsOf({ DE: 3, '(other)': 9 });
    expect(compareRows(rowsOf({ NP: 2 }), earlier)[0]).to.deep.include({ before: null });
    expect(compareRows(rowsOf({ DE: 2, '(other)': 1 }), rowsOf({ FR: 3 }))).to.deep.equal([
      { value: 'DE', clicks: 2, before: 0 },
      { value: '(other)', clicks: 1, before: 0 },
    ]);
  });

  it('does not know values beyond the limit of a list', () => {
    expect(compareRows(rowsOf({ a: 1, b: 1 }), rowsOf({ a: 2, c: 1 }), 2)).to.deep.equal([
      { value: 'a', clicks: 1, before: 2 },
      { value: 'b', clicks: 1, before: null },
    ]);
  });

  it('distinguishes campaigns by the place of their values', () => {
    const none = { campaign: null, source: null, medium: null, clicks: 1 };
    const campaigns = [
      { ...none, campaign: 'a', source: 'b' },
      { ...none, campaign: 'a', medium: 'b' },
      { ...none, source: 'a', medium: 'b' },
      { ...none, campaign: '(other)' },
      none,
    ];
    const texts = ['a / b', 'a / – / b', '– / a / b', '(other)', null];
    expect(listOf({ campaigns }, 'campaigns')).to.deep.equal(
      texts.map((value) => ({ value, clicks: 1 })),
    );
  });

  it('is empty without a compared period', () => {
    expect(compareRows(rowsOf({ DE: 2 }), undefined)).to.deep.equal([
      { value: 'DE', clicks: 2, before: null },
    ]);
  });
});
