import { expect } from 'chai';
import type { RedirectRule } from '../../schemas/redirect-rules.js';
import { createVisitAnalyzer } from '../visitors/visit-analyzer.js';
import { campaignsIn, type ServedLink } from './decision.js';
import { chooseDestination, withQuery } from './destination.js';

const link: ServedLink = {
  ...{ subject: 'spring', account: 'acme', status: 'active', location: 'https://example.com/' },
  ...{ options: {}, codes: [], createdAt: 0, startsAt: null, expiresAt: null },
  ...{ limited: false, campaigns: null, passwordHash: null, sequence: 1 },
};
const now = Date.parse('2026-05-20T12:00:00Z');
const analyzer = createVisitAnalyzer({
  ...{ countries: () => 'DE', keys: { of: () => 'a key' } },
  ...{ isOwnHost: () => false, trustedProxies: () => false },
});
const visit = (
  fields: Partial<ServedLink>,
  {
    query = '',
    path = null,
    headers = {},
  }: {
    query?: string;
    path?: string | null;
    headers?: Readonly<Record<string, string>>;
  } = {},
) => {
  const visitor = analyzer.visitorOf({ headers, peer: '192.0.2.1' }, now);
  return chooseDestination(analyzer, { ...link, ...fields }, visitor, query, path, now);
};

describe('redirect edge: destination of a visit', () => {
  it('appends the query before the fragment, without parameters of Linklog', () => {
    for (const [location, query, expected] of [
      ['https://example.com', 'a=b', 'https://example.com?a=b'],
      ['https://example.com/?x=y#top', 'a=b&c', 'https://example.com/?x=y&a=b&c#top'],
      ['https://example.com/?', 'a', 'https://example.com/?a'],
      ['https://example.com/?x&', 'a', 'https://example.com/?x&a'],
      ['https://example.com/#a?b', 'c', 'https://example.com/?c#a?b'],
      ['https://example.com/', 'qr&a=b&qr=1&ms-office&ms-office=x', 'https://example.com/?a=b'],
      ['https://example.com/#top', 'qr', 'https://example.com/#top'],
      ['https://example.com/', '&&', 'https://example.com/'],
      ['https://example.com/', 'qrx=1', 'https://example.com/?qrx=1'],
    ] as const) {
      expect(withQuery(location, query), `${location} ${query}`).to.equal(expected);
    }
  });

  it('forwards the query only if the link does', () => {
    expect(visit({}, { query: 'a=b' }).location).to.equal('https://example.com/');
    expect(visit({ options: { forwardQuery: true } }, { query: 'a=b' }).location).to.equal(
      'https://example.com/?a=b',
    );
  });

  it('forwards the path only if the link does, before the query', () => {
    expect(visit({}, { path: 'a' }).location).to.equal('https://example.com/');
    const options = { forwardPath: true, forwardQuery: true } as const;
    for (const [location, path, expected] of [
      ['https://example.com/', 'a/b', 'https://example.com/a/b?c=d'],
      ['https://example.com/x', 'a', 'https://example.com/x/a?c=d'],
      ['https://example.com/x/', 'a/', 'https://example.com/x/a/?c=d'],
      ['https://example.com/x?q=/#/f', 'a', 'https://example.com/x/a?q=/&c=d#/f'],
      ['https://example.com/#f', 'a', 'https://example.com/a?c=d#f'],
      ['https://example.com/x', null, 'https://example.com/x?c=d'],
    ] as const) {
      expect(visit({ location, options }, { path, query: 'c=d' }).location).to.equal(expected);
    }
    const rules = [{ name: 'a', when: {}, url: 'https://example.org/r' }];
    const ruled = visit({ options: { rules, forwardPath: true } }, { path: 'a' });
    expect(ruled.location).to.equal('https://example.org/r/a');
  });

  it('applies rules by query and network, also to visitors who opt out of tracking', () => {
    const rules: RedirectRule[] = [
      { name: 'q', when: { query: { from: 'mail' } }, url: 'https://example.com/q' },
      { name: 'n', when: { networks: ['192.0.2.0/30'] }, url: 'https://example.com/n' },
    ];
    const headers = { dnt: '1' };
    const targetWith = (query: string) =>
      visit({ options: { rules } }, { query, headers }).data.target;
    expect(targetWith('from=mail')).to.equal('q');
    expect(targetWith('')).to.equal('n');
  });

  it('records the rule and entry that were applied', () => {
    const rules: RedirectRule[] = [
      { name: 'french', when: { languages: ['fr'] }, url: 'https://example.com/fr' },
      {
        ...{ name: 'test', when: { countries: ['DE'] } },
        split: ['a', 'b'].map((name) => ({ name, url: `https://example.com/${name}`, weight: 1 })),
      },
    ];
    const french = visit({ options: { rules } }, { headers: { 'accept-language': 'fr' } });
    expect(french.location).to.equal('https://example.com/fr');
    expect(french.data.target).to.equal('french');
    const { location, data } = visit({ options: { rules } });
    expect(data.target).to.equal(`test/${location.at(-1)}`);
    expect(visit({ options: { rules: rules.slice(0, 1) } }).data.target).to.equal(null);
  });

  it('records the campaign of the chosen destination, without what the visitor adds', () => {
    const location = 'https://example.com/?utm_source=own';
    const rules: RedirectRule[] = [
      { name: 'q', when: { query: { a: '*' } }, url: 'https://example.com/?utm_campaign=rule' },
      { name: 'n', when: { query: { b: '*' } }, url: 'https://example.com/none' },
    ];
    const options = { rules, forwardQuery: true } as const;
    const campaigns = campaignsIn({ location, options });
    for (const [query, expected] of [
      ['utm_medium=visitor', 'source=own'],
      ['a&utm_source=visitor', 'campaign=rule'],
      ['b&utm_source=visitor', null],
    ] as const) {
      expect(visit({ location, options, campaigns }, { query }).data.campaign).to.equal(expected);
    }
    expect(campaignsIn({ location: 'https://example.com/?a', options: {} })).to.equal(null);
  });

  it('applies country and language of visitors who opt out of tracking, but does not record them', () => {
    const when = { countries: ['DE'], languages: ['fr'] };
    const rules: RedirectRule[] = [{ name: 'a', when, url: 'https://example.com/a' }];
    const headers = { 'accept-language': 'fr', dnt: '1' };
    const { location, data } = visit({ options: { rules } }, { headers });
    expect(location).to.equal('https://example.com/a');
    expect(data).to.include({ country: null, language: null, visitor: null, target: 'a' });
  });
});
