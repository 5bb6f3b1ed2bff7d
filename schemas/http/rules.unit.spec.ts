import { expect } from 'chai';
import { z } from 'zod';
import { messageWithPath, rulesField } from './rules.js';

const schema = z.object({
  rules: rulesField({ isOwnHost: ({ host }) => host === 'own.example', schemes: [] }),
});

const messageOf = (rules: unknown): string | null => {
  const parsed = schema.safeParse({ rules });
  const issue = parsed.error?.issues[0];
  return issue ? messageWithPath(issue) : null;
};

const url = 'https://example.com/';
/** As many elements as a body has room for. Validating each of them would exceed the stack. */
const many = Array.from({ length: 250_000 }, () => 'x');
const rule = { name: 'one', when: {}, url };
const entry = (name: string, weight: unknown = 1) => ({ name, url, weight });

describe('HTTP schemas: redirect rules', () => {
  it('accept conditions, one URL, and a split', () => {
    const split = { name: 'test', when: {}, split: [entry('a'), entry('b', 3)] };
    const common = {
      ...{ countries: ['DE'], os: ['iOS'], languages: ['de'] },
      query: { utm_source: 'newsletter', a: '*', b: null, '': '' },
      networks: ['192.0.2.7', '192.0.2.255/24', '2001:DB8::/32', '::ffff:192.0.2.0/120'],
    };
    const weekly = { from: '22:00', to: '06:00' };
    const when = {
      ...common,
      after: '2026-11-25T13:00:00+01:00',
      weekly: { ...weekly, days: [5, 1, 5], tz: 'europe/berlin' },
    };
    const parsed = {
      ...common,
      after: '2026-11-25T12:00:00.000Z',
      weekly: { ...weekly, days: [1, 5], tz: 'Europe/Berlin' },
    };
    const rules = [{ name: 'ios-de', when, url: `  ${url} `, ignored: true }, split];
    expect(schema.parse({ rules }).rules).to.deep.equal([
      { name: 'ios-de', when: parsed, url },
      split,
    ]);
    expect(messageOf([])).to.equal(null);
    // An empty query is no condition.
    const empty = [{ ...rule, when: { query: {} } }];
    expect(schema.parse({ rules: empty }).rules?.[0]?.when).not.to.have.property('query');
  });

  const when = (conditions: object) => [{ ...rule, when: conditions }];
  const weekly = (change: object) =>
    when({ weekly: { days: [1], from: '06:00', to: '07:00', tz: 'UTC', ...change } });
  const split = (...entries: readonly object[]) => [{ name: 'a', when: {}, split: entries }];
  const either = 'rules[0]: must have either url or split';
  const invalid: readonly [unknown, string][] = [
    ['x', 'rules: must be a list of at most 20 rules'],
    [Array.from({ length: 21 }, (_, index) => ({ ...rule, name: `r${index}` })), 'rules: must be'],
    [[rule, rule], 'rules: has two rules of the same name'],
    [[5], 'rules[0]: must be an object'],
    [[{ ...rule, name: 'a b' }], 'rules[0].name: must have 1 to 50'],
    [[{ name: 'a', when: {} }], either],
    [[{ ...rule, split: [entry('a'), entry('b')] }], either],
    [when({ devices: ['desktop', 'watch'] }), 'rules[0].when.devices[1]: must be'],
    [when({ country: ['DE'] }), 'rules[0].when.country is unknown'],
    [when({ countries: ['de'] }), 'rules[0].when.countries[0]: must be'],
    [when({ countries: ['UK'] }), 'rules[0].when.countries[0]: must be'],
    [when({ languages: ['iw'] }), 'rules[0].when.languages[0]: must be'],
    [when({ countries: many }), 'rules[0].when.countries: must be a list'],
    [when({ query: 'a=b' }), 'rules[0].when.query: must be an object of at most 10 parameters'],
    [when({ query: ['a'] }), 'rules[0].when.query: must be'],
    [when({ query: Object.fromEntries(many.entries()) }), 'rules[0].when.query: must be'],
    [
      when({ query: Object.fromEntries('abcdefghijk'.split('').entries()) }),
      'rules[0].when.query: must',
    ],
    [when({ networks: [] }), 'rules[0].when.networks: must be a list'],
    [when({ networks: many.slice(0, 51).fill('::1') }), 'rules[0].when.networks: must be a list'],
    [when({ query: { a: 5 } }), 'rules[0].when.query.a: must have at most 500'],
    [when({ query: { a: 'x'.repeat(501) } }), 'rules[0].when.query.a: must have at most 500'],
    ...[
      '10.1',
      '010.0.0.1',
      '1.2.3.4/33',
      '1.2.3.4/',
      '::/129',
      '::ffff:1.2.3.4/95',
      '0x7f.0.0.1',
    ].map((network): [unknown, string] => [
      when({ networks: ['10.0.0.0/8', network] }),
      'rules[0].when.networks[1]: must be an IP address or a CIDR',
    ]),
    [when({ networks: ['fe80::1%eth0'] }), 'rules[0].when.networks[0]: must be'],
    [weekly({ days: many }), 'rules[0].when.weekly.days: must'],
    [[{ ...rule, split: many }], 'rules[0].split: must be a list of 2 to 10'],
    [many, 'rules: must be a list of at most 20 rules'],
    [when({ countries: [] }), 'rules[0].when.countries: must be a list'],
    [when({ after: '2026-11-25T13:00' }), 'rules[0].when.after: must be a time'],
    [weekly({ from: '6:00' }), 'rules[0].when.weekly.from: must be a time of day'],
    [weekly({ to: '06:00' }), 'rules[0].when.weekly: from and to must differ'],
    [weekly({ days: [8] }), 'rules[0].when.weekly.days[0]: must be a day'],
    [weekly({ tz: '+01:00' }), 'rules[0].when.weekly.tz: must be an IANA time zone'],
    [[{ ...rule, url: 'ftp://example.com' }], 'rules[0].url: Please provide a valid URL'],
    [[{ ...rule, url: 'https://own.example/x' }], 'rules[0].url: Please provide a valid URL'],
    [split(entry('a')), 'rules[0].split: must be a list of 2 to 10'],
    [split(entry('a'), entry('a')), 'rules[0].split: has two entries of the same name'],
    [split(entry('a'), entry('b', 1.5)), 'rules[0].split[1].weight: must be an integer'],
  ];
  for (const [rules, message] of invalid) {
    it(`reject ${JSON.stringify(rules).slice(0, 60)}: ${message}`, () => {
      expect(messageOf(rules)?.slice(0, message.length)).to.equal(message);
    });
  }
});
