import { expect } from 'chai';
import type { ActiveDomain } from '../../ops/ledger/domains.js';
import { createDomainResolver, serves } from './served-domain.js';

const active = (fields: Partial<ActiveDomain> = {}): ActiveDomain => ({
  ...{ domain: 'go.example', account: 'acme' },
  ...{ rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
  ...fields,
});
const proxy = '10.0.0.1';

describe('redirect edge: the domain of a request', () => {
  const domains = new Map([['go.example', active()]]);
  const { hostOf, domainOf } = createDomainResolver({
    domains: { find: (name) => domains.get(name) },
    redirects: {
      rootRedirect: null,
      notFoundRedirect: 'https://ü.example/',
      expiredRedirect: null,
    },
    trustedProxies: (address) => address === proxy,
  });

  it('is its host in lower case, without port and trailing dot', () => {
    for (const [host, expected] of [
      ['go.example', 'go.example'],
      ['GO.example', 'go.example'],
      ['go.example:8081', 'go.example'],
      ['go.example.', 'go.example'],
      ['go.example.:443', 'go.example'],
      ['go.example:', 'go.example'],
      ['[::1]:8081', '[::1]'],
      ['', ''],
    ] as const) {
      expect(hostOf({ host }, 'client'), host).to.equal(expected);
    }
    expect(hostOf({}, 'client')).to.equal('');
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
      expect(domainOf(host)).to.deep.equal({
        ...{ prefix: '', account: null, rootRedirect: null, expiredRedirect: null },
        notFoundRedirect: 'https://xn--tda.example/',
      });
    }
  });

  it('changes with the active domain', () => {
    const first = domainOf('go.example');
    expect(first).to.include({ prefix: 'go.example/', account: 'acme', rootRedirect: null });
    expect(domainOf('go.example')).to.equal(first);
    domains.set(
      'go.example',
      active({ account: 'other', rootRedirect: 'https://example.com/ä b' }),
    );
    expect(domainOf('go.example')).to.include({
      ...{ account: 'other', rootRedirect: 'https://example.com/%C3%A4%20b' },
    });
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
