import { expect } from 'chai';
import {
  apiQueryOf,
  hostIn,
  noFilter,
  orders,
  previousOf,
  readFilter,
  rememberNext,
  showsAll,
  statuses,
  writeFilter,
} from './link-filter.js';

const firstPage = { ...noFilter, sort: 'created', after: '' } as const;

describe('the console’s list of links', () => {
  it('shows all links, newest first, by default', () => {
    expect(readFilter('')).to.deep.equal(firstPage);
    expect(writeFilter(firstPage)).to.equal('');
    expect(showsAll(readFilter('?sort=clicks&after=abc'))).to.equal(true);
  });

  it('ignores unknown values', () => {
    const query = '?search=+&status=toString&sort=constructor&tag=&page=2&from=2026-02-30&to=today';
    expect(readFilter(query)).to.deep.equal(firstPage);
  });

  it('is read as written', () => {
    const filter: Parameters<typeof writeFilter>[0] = {
      ...{ search: 'a&b ü', tags: ['x,y', '#z'], status: 'expired', destination: 'shop.example' },
      ...{ domain: 'go.example', from: '2026-02-28', to: '2028-02-29', account: 'acme' },
      ...{ sort: 'clicks', after: 'c2' },
    };
    expect(Object.keys(filter)).to.have.members(Object.keys(firstPage));
    expect(readFilter(writeFilter(filter))).to.deep.equal(filter);
    for (const name of Object.keys(noFilter) as (keyof typeof noFilter)[]) {
      expect(showsAll({ ...firstPage, [name]: filter[name] }), name).to.equal(false);
    }
    for (const status of Object.keys(statuses)) {
      expect(readFilter(`?status=${status}`)).to.include({ status });
    }
    for (const sort of Object.keys(orders)) {
      expect(readFilter(`?sort=${sort}`)).to.include({ sort });
    }
  });

  it('requests whole days in the time zone of the browser', () => {
    const filter = readFilter('?tag=a&from=2026-03-28&to=2026-03-31');
    expect(apiQueryOf(filter, 'Europe/Berlin')).to.equal(
      'tag=a&createdAfter=2026-03-28&createdBefore=2026-04-01&tz=Europe%2FBerlin',
    );
    expect(apiQueryOf(readFilter('?tag=a'), 'Europe/Berlin')).to.equal('tag=a');
  });

  it('knows the previous page', () => {
    const second = readFilter('?tag=pages&after=c2');
    expect(previousOf(firstPage)).to.equal(null);
    expect(previousOf(second)).to.equal(null);
    rememberNext(readFilter('?tag=pages'), 'c2');
    rememberNext(second, 'c3');
    expect(previousOf(second)).to.equal('');
    expect(previousOf({ ...second, after: 'c3' })).to.equal('c2');
    expect(previousOf(readFilter('?tag=other&after=c2'))).to.equal(null);
  });

  it('takes the host of a pasted URL', () => {
    expect(hostIn('https://Shop.example:8080/a')).to.equal('shop.example');
    expect(hostIn(' shop.example/a?b ')).to.equal('shop.example');
    expect(hostIn('shop.example')).to.equal('shop.example');
    expect(hostIn('no host/a')).to.equal('no host/a');
  });
});
