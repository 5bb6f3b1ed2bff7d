import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import type { RedirectRule, RuleConditions, WeeklyWindow } from './redirect-rules.js';
import { isInWindow, matches, targetOf, type RuledVisit } from './rule-target.js';

const noon = Date.parse('2026-11-25T12:00:00Z');
const visit: RuledVisit = {
  country: 'DE',
  device: 'mobile',
  os: 'iOS',
  browser: 'Safari',
  query: 'utm_source=news%20letter&a&b=1&b=2&c%20%C3%A9=d',
  address: '::ffff:192.0.2.130',
  language: 'de',
  visitor: null,
  now: noon,
};

describe('redirect edge: redirect rules', () => {
  const conditions: readonly [string, RuleConditions, boolean][] = [
    ['no condition', {}, true],
    ['one of the countries', { countries: ['AT', 'DE'] }, true],
    ['none of the countries', { countries: ['AT'] }, false],
    ['all conditions', { countries: ['DE'], devices: ['mobile'], os: ['iOS'] }, true],
    ['all conditions but one', { countries: ['DE'], browsers: ['Chrome'] }, false],
    ['the language', { languages: ['de'] }, true],
    ['a time at `after`', { after: '2026-11-25T12:00:00.000Z' }, true],
    ['a time before `after`', { after: '2026-11-25T12:00:00.001Z' }, false],
    ['a time at `before`', { before: '2026-11-25T12:00:00.000Z' }, false],
    ['a time before `before`', { before: '2026-11-25T12:00:00.001Z' }, true],
    ['a decoded parameter', { query: { utm_source: 'news letter' } }, true],
    ['a decoded name', { query: { 'c é': 'd' } }, true],
    ['another value of a parameter', { query: { utm_source: 'news' } }, false],
    ['any value, also an empty one', { query: { a: '*', b: '*' } }, true],
    ['any value of an absent parameter', { query: { c: '*' } }, false],
    ['an absent parameter', { query: { c: null } }, true],
    ['a parameter that must be absent', { query: { a: null } }, false],
    ['one of the values of a repeated parameter', { query: { b: '2' } }, true],
    ['all parameters but one', { query: { b: '2', a: '1' } }, false],
    ['an address in a network', { networks: ['2001:db8::/32', '192.0.2.255/25'] }, true],
    ['an address in a network of mapped addresses', { networks: ['::ffff:192.0.2.128/121'] }, true],
    ['the address itself', { networks: ['192.0.2.130'] }, true],
    ['no network of the address', { networks: ['192.0.2.0/25', '::/0'] }, false],
  ];
  for (const [title, when, expected] of conditions) {
    it(`${expected ? 'match' : 'do not match'} ${title}`, () => {
      expect(matches(when, visit)).to.equal(expected);
    });
  }

  it('never match an unknown attribute', () => {
    expect(matches({ networks: ['0.0.0.0/0', '::/0'] }, { ...visit, address: '' })).to.equal(false);
    expect(matches({ countries: ['DE'] }, { ...visit, country: null })).to.equal(false);
  });

  it('lead to the URL of the first rule that matches', () => {
    const rules: readonly RedirectRule[] = [
      { name: 'at', when: { countries: ['AT'] }, url: 'https://example.com/at' },
      { name: 'ios', when: { os: ['iOS'] }, url: 'https://example.com/ios' },
      { name: 'rest', when: {}, url: 'https://example.com/rest' },
    ];
    expect(targetOf(rules, visit, Math.random)).to.deep.equal({
      url: 'https://example.com/ios',
      target: 'ios',
    });
    expect(targetOf(rules.slice(0, 1), visit, Math.random)).to.equal(null);
  });

  describe('weekly windows', () => {
    const nights: WeeklyWindow = { days: [5, 7], from: '22:00', to: '06:00', tz: 'Europe/Berlin' };
    const times: readonly (readonly [title: string, time: string, isInside: boolean])[] = [
      ['start on their day', '2026-11-27T22:00[Europe/Berlin]', true],
      ['have not started before', '2026-11-27T21:59:59[Europe/Berlin]', false],
      ['cross midnight', '2026-11-28T05:59:59[Europe/Berlin]', true],
      ['end exclusively', '2026-11-28T06:00[Europe/Berlin]', false],
      ['do not start on other days', '2026-11-28T22:00[Europe/Berlin]', false],
      ['cross the end of the week', '2026-11-30T01:00[Europe/Berlin]', true],
    ];
    for (const [title, time, isInside] of times) {
      it(title, () => {
        const { epochMilliseconds } = Temporal.ZonedDateTime.from(time);
        expect(isInWindow(nights, epochMilliseconds)).to.equal(isInside);
      });
    }

    it('agree with the local time of the zone, also around transitions', () => {
      const zones = fc.constantFrom(
        ...['Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Australia/Lord_Howe'],
      );
      const hour = fc.integer({ min: 0, max: 23 });
      fc.assert(
        fc.property(zones, fc.integer({ min: 0, max: 366 * 24 * 12 }), hour, (tz, step, from) => {
          const now = Date.parse('2026-01-01T00:00:00Z') + step * 300_000;
          const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(tz);
          const to = (from + 1) % 24;
          const clock = (value: number) => `${String(value).padStart(2, '0')}:00`;
          const window = { days: [1, 2, 3, 4, 5, 6, 7], from: clock(from), to: clock(to), tz };
          expect(isInWindow(window, now)).to.equal(local.hour === from);
        }),
      );
    });
  });

  describe('splits', () => {
    const split = [
      { name: 'a', url: 'https://example.com/a', weight: 1 },
      { name: 'b', url: 'https://example.com/b', weight: 3 },
    ];
    const rules: readonly RedirectRule[] = [{ name: 'test', when: {}, split }];
    const visitorOf = (number: number) =>
      createHash('sha256').update(String(number)).digest('base64url').slice(0, 16);

    it('give a visitor the same entry, on every edge', () => {
      for (let number = 0; number < 100; number += 1) {
        const returning = { ...visit, visitor: visitorOf(number) };
        const first = targetOf(rules, returning, Math.random);
        expect(targetOf(rules, { ...returning, now: noon + 1 }, Math.random)).to.deep.equal(first);
      }
    });

    it('follow the weights within 4 % over 10,000 visitors', () => {
      let first = 0;
      for (let number = 0; number < 10_000; number += 1) {
        const { target } =
          targetOf(rules, { ...visit, visitor: visitorOf(number) }, Math.random) ?? {};
        if (target === 'test/a') first += 1;
      }
      expect(first / 10_000).to.be.within(0.24, 0.26);
    });

    it('are independent of the splits of other rules', () => {
      const other: readonly RedirectRule[] = [{ name: 'other', when: {}, split }];
      let equal = 0;
      for (let number = 0; number < 2_000; number += 1) {
        const returning = { ...visit, visitor: visitorOf(number) };
        const entries = [rules, other].map((list) => targetOf(list, returning, Math.random)?.url);
        if (entries[0] === entries[1]) equal += 1;
      }
      // 1/16 + 9/16
      expect(equal / 2_000).to.be.closeTo(0.625, 0.02);
    });

    it('give a visit without visitor a random entry', () => {
      expect(targetOf(rules, visit, () => 0)).to.include({ target: 'test/a' });
      expect(targetOf(rules, visit, () => 0.25)).to.include({ target: 'test/b' });
      expect(targetOf(rules, visit, () => 0.999_999)).to.include({ target: 'test/b' });
    });
  });
});
