import { expect } from 'chai';
import { BlockList } from 'node:net';
import { trustIn } from '../../ops/http/client-address.js';
import { catalogue } from '../../schemas/events/catalogue.js';
import { queryOf } from '../redirect/response.js';
import { createVisitAnalyzer, isPrefetch, languageOf, type ClientParts } from './visit-analyzer.js';

const proxies = new BlockList();
proxies.addAddress('10.0.0.1');

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const link = { subject: 'spring', sequence: 3 };

type Visit = ClientParts & { readonly url: string };
type Options = Parameters<typeof createVisitAnalyzer>[0];
const createAnalyzer = (options: Partial<Options> = {}) =>
  createVisitAnalyzer({
    ...{ countries: () => null, keys: { of: () => null }, isOwnHost: () => false },
    trustedProxies: trustIn(proxies),
    ...options,
  });
const analyzerOf = (options?: Partial<Options>) => {
  const analyzer = createAnalyzer(options);
  return (visit: Visit, ofLink: typeof link, now: number) =>
    analyzer.dataOf(analyzer.visitorOf(visit, now), ofLink, queryOf(visit), now);
};

const [today, tomorrow] = [Date.parse('2026-05-20T23:59:59.999Z'), Date.parse('2026-05-21')];

describe('redirect edge: visit analyzer', () => {
  const analyzer = analyzerOf({
    countries: (address) => ({ '198.51.100.7': 'DE', '2001:db8:1::7': 'FR' })[address] ?? null,
    keys: { of: (time) => (time === today ? 'a' : 'b').repeat(64) },
    isOwnHost: ({ host }) => host === 'sho.rt',
  });

  const request = (
    headers: Record<string, string> = {},
    { address = '198.51.100.7', url = '/spring' } = {},
  ): Visit => ({
    headers: {
      'user-agent': firefox,
      'accept-language': 'de-CH,de;q=0.9',
      referer: 'https://www.example.com/page',
      ...headers,
    },
    peer: address,
    url,
  });

  const visitor = (...args: Parameters<typeof request>): string | null =>
    analyzer(request(...args), link, today).visitor;

  it('determines all data of the event', () => {
    const data = analyzer(request({}, { url: '/spring?qr' }), link, today);
    const { visitor: hash, ...others } = data;
    expect(others).to.deep.equal({
      ...{ bot: false, country: 'DE', referrer: 'example.com', browser: 'Firefox', os: 'Linux' },
      ...{ device: 'desktop', language: 'de', trigger: 'qr', version: 3, target: null },
      ...{ code: null, campaign: null },
    });
    expect(hash).to.match(/^[\w-]{16}$/);
    catalogue.LinkVisited.data.parse({ click: null, ...data });
  });

  it('looks up an address once a minute', () => {
    const lookups: string[] = [];
    const counting = analyzerOf({
      countries: (address) => {
        lookups.push(address);
        return 'DE';
      },
    });
    const country = (now: number): unknown => counting(request(), link, now).country;
    expect([today, today + 59_999].map(country)).to.deep.equal(['DE', 'DE']);
    expect(lookups).to.have.length(1);
    [today + 60_000, today - 60_000].map(country);
    expect(lookups).to.have.length(3);
  });

  it('determines only the visitor hash of a request without headers', () => {
    const bare = { headers: {}, peer: '192.0.2.1', url: '/spring' };
    const data = analyzer(bare, link, today);
    const { bot, visitor: hash, trigger, version, ...others } = data;
    expect({ bot, trigger, version }).to.deep.equal({ bot: false, trigger: 'link', version: 3 });
    expect(hash).to.be.a('string');
    expect(Object.values(others).every((value) => value === null)).to.be.true;
  });

  for (const header of ['dnt', 'sec-gpc']) {
    it(`determines neither country, referrer, language nor visitor with ${header}: 1`, () => {
      const data = analyzer(request({ [header]: '1' }), link, today);
      const unknown = { country: null, referrer: null, language: null, visitor: null };
      expect(data).to.include({ ...unknown, browser: 'Firefox', trigger: 'link' });
      expect(analyzer(request({ [header]: '0' }), link, today).country).to.equal('DE');
    });
  }

  it('ignores own pages as referrer', () => {
    expect(analyzer(request({ referer: 'https://sho.rt/x+' }), link, today).referrer).to.be.null;
  });

  it('determines the network from trusted headers, unless the client opts out', () => {
    const visitAnalyzer = createAnalyzer();
    const through = (header: string): Visit =>
      request({ 'x-forwarded-for': header }, { address: '10.0.0.1' });
    const requests = [
      ...[request(), request({ dnt: '1' }), request({}, { address: '' })],
      ...[through('198.51.100.7'), through('2001:db8::7'), through('nonsense'), through('')],
      request({ 'x-forwarded-for': 'nonsense', 'sec-gpc': '1' }, { address: '10.0.0.1' }),
    ];
    const networks = requests.map((visit) => visitAnalyzer.visitorOf(visit, today).network);
    expect(networks).to.deep.equal([
      ...['198.51.100.7', '', ''],
      ...['198.51.100.7', '2001:db8:0:0::/64', '10.0.0.1', '10.0.0.1', ''],
    ]);
  });

  describe('identifies a visitor', () => {
    it('by the same hash in all requests', () => {
      expect(visitor()).to.equal(visitor({ referer: '', 'accept-language': 'fr' }));
    });

    it('by another hash for another link, day, network or user agent', () => {
      const hashes = [
        visitor(),
        analyzer(request(), { ...link, subject: 'autumn' }, today).visitor,
        analyzer(request(), link, tomorrow).visitor,
        visitor({}, { address: '198.51.100.8' }),
        visitor({ 'user-agent': `${firefox}.1` }),
      ];
      expect(new Set(hashes).size).to.equal(5);
    });

    it('by no hash without a key or an address', () => {
      expect(analyzerOf()(request(), link, today).visitor).to.be.null;
      expect(visitor({}, { address: '' })).to.be.null;
    });
  });

  describe('detects a QR code', () => {
    for (const url of ['/a?qr', '/a?qr=', '/a?qr=0', '/a?utm=x&qr', '/a?qr&b=c']) {
      it(`in ${url}`, () => {
        expect(analyzer(request({}, { url }), link, today).trigger).to.equal('qr');
      });
    }
    for (const url of ['/a', '/qr', '/a?', '/a?q', '/a?qrx', '/a?x=qr', '/a?QR', '/a?x=?qr']) {
      it(`not in ${url}`, () => {
        expect(analyzer(request({}, { url }), link, today).trigger).to.equal('link');
      });
    }
  });
});

describe('redirect edge: language', () => {
  const languages = {
    ...{ de: 'de', 'de-CH,de;q=0.9,en;q=0.8': 'de', 'EN-us': 'en', 'en;q=0.5, fr': 'fr' },
    ...{ ' fil-PH': 'fil', 'zh-Hant-TW': 'zh', '*': null, 'i-klingon': null, 'x-jane': null },
    ...{ 'jane-doe': null, deutsch: null, d3: null, ', de': 'de', '': null },
    ...{ 'en;q=0.8,de;q=0.9': 'de', 'de;q=0,en': 'en', 'de;q=0': null, 'en;q=0.8, de;q=0.8': 'en' },
    ...{ 'en ; q=0.5 , fr;q=1.000': 'fr', 'iw-IL,en;q=0.5': 'he', in: 'id', ji: 'yi', und: null },
    ...{ '*;q=0.9,de;q=0.5': null, 'de;q=high,en;q=0.1': 'en' },
  };
  for (const [header, language] of Object.entries(languages)) {
    it(`is ${language ?? 'unknown'} for "${header}"`, () => {
      expect(languageOf(header)).to.equal(language);
    });
  }
});

describe('redirect edge: prefetch', () => {
  const examples: readonly (readonly [boolean, Record<string, string>])[] = [
    [true, { 'sec-purpose': 'prefetch' }],
    [true, { 'sec-purpose': 'prefetch;prerender' }],
    [true, { 'sec-purpose': 'prefetch;anonymous-client-ip' }],
    [true, { purpose: 'Preview' }],
    [true, { 'x-purpose': 'preview' }],
    [true, { purpose: '', 'x-moz': 'PREFETCH' }],
    [false, {}],
    [false, { 'sec-purpose': '' }],
    [false, { purpose: 'navigation' }],
    [false, { 'x-purpose': 'prefetching' }],
    [false, { 'sec-fetch-mode': 'prefetch' }],
    [false, { 'x-moz': '1' }],
  ];
  for (const [expected, headers] of examples) {
    it(`is ${expected ? '' : 'not '}${JSON.stringify(headers)}`, () => {
      expect(isPrefetch(headers)).to.equal(expected);
    });
  }
});
