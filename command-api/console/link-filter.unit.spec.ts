import { expect } from 'chai';
import fc from 'fast-check';
import { orders, readFilter, showsAll, statuses, writeFilter } from './link-filter.js';

const all = {
  search: '',
  tags: [],
  status: '',
  domain: '',
  account: '',
  sort: 'created',
  after: '',
} as const;

describe('the console’s list of links', () => {
  it('shows all, newest first, unless told', () => {
    expect(readFilter('')).to.deep.equal(all);
    expect(writeFilter(all)).to.equal('');
    expect(showsAll(readFilter('?sort=clicks&after=abc'))).to.equal(true);
  });

  it('takes no notice of what it does not know', () => {
    const query = '?search=+&status=toString&sort=constructor&tag=&page=2';
    expect(readFilter(query)).to.deep.equal(all);
  });

  it('is read as it was written', () => {
    const texts = fc.string({ unit: 'grapheme' }).map((text) => text.trim());
    const filters = fc.record({
      search: texts,
      tags: fc.uniqueArray(texts.filter((text) => text !== '')),
      status: fc.constantFrom('', ...(Object.keys(statuses) as (keyof typeof statuses)[])),
      domain: texts,
      account: texts,
      sort: fc.constantFrom(...(Object.keys(orders) as (keyof typeof orders)[])),
      after: texts,
    });
    fc.assert(
      fc.property(filters, (filter) => {
        expect(readFilter(writeFilter(filter))).to.deep.equal(filter);
        expect(showsAll(filter)).to.equal(
          showsAll(readFilter(writeFilter({ ...filter, sort: 'created', after: '' }))),
        );
      }),
    );
  });
});
