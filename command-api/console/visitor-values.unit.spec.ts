import { expect } from 'chai';
import { browserFamilies, deviceTypes, osFamilies } from '../../schemas/events/visitor.js';
import { attributes, optionsOf, visitorOf } from './visitor-values.js';

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0';
const mobile = 'Mobile/15E148 Safari/604.1';
const safari = 'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1';

type Agent = readonly [agent: string, browser: string, os: string, device: string];

const agents: readonly Agent[] = [
  [`(Windows NT 10.0; Win64; x64) ${chrome} Safari/537.36`, 'Chrome', 'Windows', 'desktop'],
  [`(Windows NT 10.0) ${chrome} Safari/537.36 Edg/120.0`, 'Microsoft Edge', 'Windows', 'desktop'],
  ['(X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox', 'Linux', 'desktop'],
  [`(X11; CrOS x86_64 14541.0.0) ${chrome} Safari/537.36`, 'Chrome', 'Chrome OS', 'desktop'],
  [`(Macintosh; Intel Mac OS X 10_15_7) ${safari} Safari/605.1.15`, 'Safari', 'macOS', 'desktop'],
  [`(iPhone; CPU iPhone OS 17_1 like Mac OS X) ${safari} ${mobile}`, 'Safari', 'iOS', 'mobile'],
  [`(iPad; CPU OS 16_6 like Mac OS X) ${safari} ${mobile}`, 'Safari', 'iOS', 'tablet'],
  [`(Linux; Android 13; Pixel 7) ${chrome} Mobile Safari/537.36`, 'Chrome', 'Android', 'mobile'],
  [`(Linux; Android 13; SM-X700) ${chrome} Safari/537.36`, 'Chrome', 'Android', 'tablet'],
];

describe('the values of redirect rules', () => {
  it('are unique, have names, and contain the values that a rule already has', () => {
    for (const attribute of attributes) {
      const options = optionsOf(attribute);
      expect(new Set(options.map(([value]) => value)).size).to.equal(options.length);
      expect(options.filter(([, name]) => name === '')).to.deep.equal([]);
      expect(optionsOf(attribute, [options[0]?.[0] ?? '', 'xyz'])).to.have.length(
        options.length + 1,
      );
    }
    // A code without a name would be its own name.
    for (const attribute of ['countries', 'languages'] as const) {
      expect(optionsOf(attribute).filter(([value, name]) => value === name)).to.deep.equal([]);
    }
    expect(optionsOf('countries')).to.have.length(250);
    expect(optionsOf('countries')[0]).to.deep.equal(['AF', 'Afghanistan']);
  });

  for (const [agent, browsers, os, devices] of agents) {
    it(`recognize ${browsers} on ${os}, ${devices}`, () => {
      const visitor = visitorOf(`Mozilla/5.0 ${agent}`, 'de-AT');
      expect(visitor).to.include({ countries: 'AT', devices, os, browsers, languages: 'de' });
    });
  }

  it('are those of the API', () => {
    expect(browserFamilies).to.include.members(agents.map(([, browser]) => browser));
    expect(osFamilies).to.include.members(agents.map(([, , os]) => os));
    expect(deviceTypes).to.include.members(agents.map(([, , , device]) => device));
  });

  it('are unknown for other browsers', () => {
    expect(new Set(Object.values(visitorOf('curl/8.5.0', '')))).to.deep.equal(new Set([null]));
    const { countries, languages } = visitorOf('', 'zh-Hant-TW');
    expect([countries, languages]).to.deep.equal(['TW', 'zh']);
  });
});
