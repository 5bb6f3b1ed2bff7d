import { expect } from 'chai';
import type { ActiveDomain } from '../../ops/ledger/domains.js';
import { createDomainResolver, serves, subjectOn } from './served-domain.js';

const noRedirects = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };
const active = (fields: Partial<ActiveDomain> = {}): ActiveDomain => ({
  ...{ domain: 'go.example', account: 'acme', ...noRedirects, caseInsensitive: false },
  ...fields,
});
const proxy = '10.0.0.1';

describe('redirect edge: the domain of a request', () => {
  const domains = new Map([['go.example', active()]]);
  const { hostOf, domainOf } = createDomainResolver({
    domains: { find: (name) => domains.get(name), ignoresCase: () => false },
    redirects: { ...noRedirects, notFoundRedirect: 'https://ü.example/' },
    trustedProxies: (address) => address === proxy,
  });

  it('is its host in lower case, without port and trailing dot', () => {
    for (const host of [
      ...['go.example', 'GO.example', 'go.example:8081', 'go.example.', 'go.example.:443'],
      'go.example:',
    ]) {
      expect(hostOf({ host }, 'client'), host).to.equal('go.example');
    }
    expect(hostOf({ host: '[::1]:8081' }, 'client')).to.equal('[::1]');
    for (const headers of [{ host: '' }, {}]) expect(hostOf(headers, 'client')).to.equal('');
  });

  it('is the first X-Forwarded-Host of a trusted proxy only', () => {
    for (const forwarded of ['Go.example:443', 'go.example, inner', ' go.example. ,inner']) {
      const headers = { host: 'inner', 'x-forwarded-host': forwarded };
      expect(hostOf(headers, proxy), forwarded).to.equal('go.example');
      expect(hostOf(headers, 'client')).to.equal('inner');
    }
    expect(hostOf({ host: 'go.example' }, proxy)).to.equal('go.example');
  });

  it('is the default domain for a host that is not active', () => {
    for (const host of ['', 'www.go.example', 'go', '[::1]']) {
      const notFoundRedirect = 'https://xn--tda.example/';
      const expected = {
        ...{ prefix: '', ignoresCase: false, account: null },
        ...{ ...noRedirects, notFoundRedirect },
      };
      expect(domainOf(host)).to.deep.equal(expected);
    }
  });

  it('determines whether the subject of a code has its case', () => {
    domains.set('any.example', active({ domain: 'any.example', caseInsensitive: true }));
    expect(subjectOn(domainOf('any.example'), 'SALE')).to.equal('any.example/sale');
    expect(subjectOn(domainOf('go.example'), 'SALE')).to.equal('go.example/SALE');
    expect(subjectOn(domainOf(''), 'SALE')).to.equal('SALE');
  });

  it('changes with the active domain', () => {
    const first = domainOf('go.example');
    expect(first).to.include({ prefix: 'go.example/', account: 'acme', rootRedirect: null });
    expect(domainOf('go.example')).to.equal(first);
    const rootRedirect = 'https://example.com/ä b';
    domains.set('go.example', active({ account: 'other', rootRedirect }));
    const changed = { account: 'other', rootRedirect: 'https://example.com/%C3%A4%20b' };
    expect(domainOf('go.example')).to.include(changed);
    domains.delete('go.example');
    expect(domainOf('go.example')).to.include({ prefix: '', account: null });
  });

  it('serves links of its account; the default domain serves all', () => {
    const defaultDomain = domainOf('');
    domains.set('go.example', active());
    const own = domainOf('go.example');
    expect(serves(own, { account: 'acme' })).to.equal(true);
    expect(serves(own, { account: 'other' })).to.equal(false);
    expect(serves(defaultDomain, { account: 'other' })).to.equal(true);
  });
});
