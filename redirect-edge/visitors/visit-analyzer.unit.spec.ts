import { expect } from 'chai';
import { BlockList } from 'node:net';
import { trustIn } from '../../ops/http/client-address.js';
import { catalogue } from '../../schemas/events/catalogue.js';
import { queryOf } from '../redirect/response.js';
import { createVisitAnalyzer, type ClientParts, type VisitAnalyzer } from './visit-analyzer.js';

const proxies = new BlockList();
proxies.addAddress('10.0.0.1');

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const link = { code: 'spring', sequence: 3 };

type Visit = ClientParts & { readonly url: string };
const analyzerOf = (analyzer: VisitAnalyzer) => (visit: Visit, ofLink: typeof link, now: number) =>
  analyzer.dataOf(analyzer.visitorOf(visit, now), ofLink, queryOf(visit), now);

const [today, tomorrow] = [Date.parse('2026-05-20T23:59:59.999Z'), Date.parse('2026-05-21')];

describe('redirect edge: analyzer of visitors', () => {
  const analyzer = analyzerOf(
    createVisitAnalyzer({
      countries: (address) => ({ '198.51.100.7': 'DE', '2001:db8:1::7': 'FR' })[address] ?? null,
      keys: { of: (time) => (time === today ? 'a' : 'b').repeat(64) },
      isOwnHost: ({ host }) => host === 'sho.rt',
      trustedProxies: trustIn(proxies),
    }),
  );

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

  it('tells all that a visit records, as the event has it', () => {
    const data = analyzer(request({}, { url: '/spring?qr' }), link, today);
    const { visitor: hash, ...others } = data;
    expect(others).to.deep.equal({
      bot: false,
      country: 'DE',
      referrer: 'example.com',
      browser: 'Firefox',
      os: 'Linux',
      device: 'desktop',
      language: 'de',
      trigger: 'qr',
      version: 3,
    });
    expect(hash).to.match(/^[\w-]{16}$/);
    catalogue.LinkVisited.data.parse({ click: null, ...data });
  });

  it('looks an address up once a minute', () => {
    const asked: string[] = [];
    const asking = analyzerOf(
      createVisitAnalyzer({
        countries: (address) => {
          asked.push(address);
          return 'DE';
        },
        keys: { of: () => null },
        isOwnHost: () => false,
        trustedProxies: trustIn(proxies),
      }),
    );
    const ask = (now: number): unknown => asking(request(), link, now).country;
    expect([ask(today), ask(today + 59_999)]).to.deep.equal(['DE', 'DE']);
    expect(asked).to.have.length(1);
    ask(today + 60_000);
    ask(today - 60_000);
    expect(asked).to.have.length(3);
  });

  it('knows nothing of a bare request, but a visitor’s hash', () => {
    const bare = { headers: {}, peer: '192.0.2.1', url: '/spring' };
    const data = analyzer(bare, link, today);
    const { bot, visitor: hash, trigger, version, ...others } = data;
    expect({ bot, trigger, version }).to.deep.equal({ bot: false, trigger: 'link', version: 3 });
    expect(hash).to.be.a('string');
    expect(Object.values(others).every((value) => value === null)).to.be.true;
  });

  for (const header of ['dnt', 'sec-gpc']) {
    it(`tells neither country, referrer, language nor visitor with ${header}: 1`, () => {
      const data = analyzer(request({ [header]: '1' }), link, today);
      const untold = { country: null, referrer: null, language: null, visitor: null };
      expect(data).to.include({ ...untold, browser: 'Firefox', trigger: 'link' });
      expect(analyzer(request({ [header]: '0' }), link, today).country).to.equal('DE');
    });
  }

  it('has the referrer of no page of ours', () => {
    expect(analyzer(request({ referer: 'https://sho.rt/x+' }), link, today).referrer).to.be.null;
  });

  it('believes a trusted proxy, and nobody else, who the client is', () => {
    const forwarded = { 'x-forwarded-for': '2001:db8:1::7' };
    const country = (address: string): string | null =>
      analyzer(request(forwarded, { address }), link, today).country;
    expect(country('10.0.0.1')).to.equal('FR');
    expect(country('198.51.100.7')).to.equal('DE');
  });

  it('judges many as it judges one', () => {
    const many = createVisitAnalyzer({
      countries: (address) => (address === '198.51.100.7' ? 'DE' : null),
      keys: { of: () => null },
      isOwnHost: () => false,
      trustedProxies: trustIn(proxies),
    });
    const through = (header: string): Visit =>
      request({ 'x-forwarded-for': header }, { address: '10.0.0.1' });
    const requests = [
      ...[request(), request({ dnt: '1' }), request({}, { address: '' })],
      ...[through('198.51.100.7'), through('2001:db8::7'), through('nonsense'), through('')],
      request({ 'x-forwarded-for': 'nonsense', 'sec-gpc': '1' }, { address: '10.0.0.1' }),
    ];
    const visitors = many.visitorsOf(requests, today);
    expect(visitors).to.deep.equal(requests.map((one) => many.visitorOf(one, today)));
    expect(visitors.map(({ network }) => network)).to.deep.equal([
      ...['198.51.100.7', '', ''],
      ...['198.51.100.7', '2001:db8:0:0::/64', '10.0.0.1', '10.0.0.1', ''],
    ]);
    expect(many.visitorsOf([], today)).to.deep.equal([]);
  });

  describe('tells a visitor', () => {
    it('by the same hash each time, whatever the request is for', () => {
      expect(visitor()).to.equal(visitor({ referer: '', 'accept-language': 'fr' }));
    });

    it('by another at another link, on another day, from another network or with another agent', () => {
      const hashes = [
        visitor(),
        analyzer(request(), { ...link, code: 'autumn' }, today).visitor,
        analyzer(request(), link, tomorrow).visitor,
        visitor({}, { address: '198.51.100.8' }),
        visitor({ 'user-agent': `${firefox}.1` }),
      ];
      expect(new Set(hashes).size).to.equal(5);
    });

    it('of IPv6 by its /64', () => {
      const from = (address: string): string | null => visitor({}, { address });
      expect(from('2001:db8:1:2::7')).to.equal(from('2001:db8:1:2:ffff::1'));
      expect(from('2001:db8:1:2::7')).to.not.equal(from('2001:db8:1:3::7'));
    });

    it('by none while no key is at hand, or the address is gone', () => {
      const keyless = analyzerOf(
        createVisitAnalyzer({
          countries: () => null,
          keys: { of: () => null },
          isOwnHost: () => false,
          trustedProxies: () => false,
        }),
      );
      expect(keyless(request(), link, today).visitor).to.be.null;
      expect(visitor({}, { address: '' })).to.be.null;
    });
  });

  describe('tells a QR code', () => {
    for (const url of ['/a?qr', '/a?qr=', '/a?qr=0', '/a?utm=x&qr', '/a?qr&b=c']) {
      it(`by ${url}`, () => {
        expect(analyzer(request({}, { url }), link, today).trigger).to.equal('qr');
      });
    }
    for (const url of ['/a', '/qr', '/a?', '/a?q', '/a?qrx', '/a?x=qr', '/a?QR', '/a?x=?qr']) {
      it(`not by ${url}`, () => {
        expect(analyzer(request({}, { url }), link, today).trigger).to.equal('link');
      });
    }
  });
});
