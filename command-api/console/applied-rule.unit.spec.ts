import { expect } from 'chai';
import type { RuleConditions } from '../../schemas/redirect-rules.js';
import { appliedRule } from './applied-rule.js';
import type { Visitor } from './visitor-values.js';

const visitor: Visitor = {
  countries: 'AT',
  devices: 'mobile',
  ...{ os: 'iOS', browsers: 'Safari', languages: 'de' },
  ...{ query: 'a=1&b=%C3%A4&a=2', address: '::ffff:192.0.2.7' },
};
const now = Date.parse('2026-11-27T22:30:00Z');

const named = (name: string, when: RuleConditions) => ({ name, when, url: 'https://example.com/' });
const nameOf = (...conditions: readonly RuleConditions[]): string | undefined =>
  appliedRule(
    conditions.map((when, index) => named(String(index), when)),
    visitor,
    now,
  )?.name;

describe('the rule that the console shows for a visitor', () => {
  it('is the first that matches by each attribute', () => {
    const matching: readonly RuleConditions[] = [
      { countries: ['DE', 'AT'] },
      { devices: ['mobile'] },
      { os: ['iOS'] },
      { browsers: ['Safari'] },
      { languages: ['de'] },
      { after: '2026-11-27T22:30:00.000Z' },
      { query: { a: '2', b: 'ä', c: null } },
      { networks: ['2001:db8::/32', '192.0.2.255/24'] },
    ];
    for (const when of matching) {
      expect(nameOf({ countries: ['CH'] }, when, {}), Object.keys(when).join()).to.equal('1');
    }
  });

  it('is none if no rule matches', () => {
    expect(nameOf()).to.equal(undefined);
    expect(nameOf({ before: '2026-11-27T22:30:00.000Z' })).to.equal(undefined);
  });

  it('is unknown with an unknown time zone', () => {
    const weekly = { days: [5], from: '23:00', to: '01:00', tz: 'Europe/Atlantis' };
    expect(() => nameOf({ weekly })).to.throw(RangeError);
  });
});
