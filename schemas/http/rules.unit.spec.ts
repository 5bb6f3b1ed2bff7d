import { expect } from 'chai';
import { z } from 'zod';
import { messageWithPath, rulesField } from './rules.js';

const schema = z.object({ rules: rulesField(({ host }) => host === 'own.example') });

const messageOf = (rules: unknown): string | null => {
  const parsed = schema.safeParse({ rules });
  const issue = parsed.error?.issues[0];
  return issue ? messageWithPath(issue) : null;
};

const url = 'https://example.com/';
/** As many elements as a body has room for. Validating each of them would exceed the stack. */
const many = Array.from({ length: 250_000 }, () => 'x');
const window = { from: '22:00', to: '06:00', tz: 'UTC' };
const rule = { name: 'one', when: {}, url };
const entry = (name: string, weight: unknown = 1) => ({ name, url, weight });

describe('HTTP schemas: redirect rules', () => {
  it('accept conditions, one URL, and a split', () => {
    const rules = [
      {
        name: 'ios-de',
        when: {
          countries: ['DE'],
          os: ['iOS'],
          languages: ['de'],
          after: '2026-11-25T13:00:00+01:00',
          weekly: { days: [5, 1, 5], from: '22:00', to: '06:00', tz: 'europe/berlin' },
        },
        url: `  ${url} `,
        ignored: true,
      },
      { name: 'test', when: {}, split: [entry('a'), entry('b', 3)] },
    ];
    expect(schema.parse({ rules }).rules).to.deep.equal([
      {
        name: 'ios-de',
        when: {
          countries: ['DE'],
          os: ['iOS'],
          languages: ['de'],
          after: '2026-11-25T12:00:00.000Z',
          weekly: { days: [1, 5], from: '22:00', to: '06:00', tz: 'Europe/Berlin' },
        },
        url,
      },
      { name: 'test', when: {}, split: [entry('a'), entry('b', 3)] },
    ]);
    expect(messageOf([])).to.equal(null);
  });

  const invalid: readonly [unknown, string][] = [
    ['x', 'rules: must be a list of at most 20 rules'],
    [Array.from({ length: 21 }, (_, index) => ({ ...rule, name: `r${index}` })), 'rules: must be'],
    [[rule, rule], 'rules: has two rules of the same name'],
    [[5], 'rules[0]: must be an object'],
    [[{ ...rule, name: 'a b' }], 'rules[0].name: must have 1 to 50'],
    [[{ name: 'a', when: {} }], 'rules[0]: must have either url or split'],
    [[{ ...rule, split: [entry('a'), entry('b')] }], 'rules[0]: must have either url or split'],
    [[{ ...rule, when: { devices: ['desktop', 'watch'] } }], 'rules[0].when.devices[1]: must be'],
    [[{ ...rule, when: { country: ['DE'] } }], 'rules[0].when.country is unknown'],
    [[{ ...rule, when: { countries: ['de'] } }], 'rules[0].when.countries[0]: must be'],
    [[{ ...rule, when: { countries: ['UK'] } }], 'rules[0].when.countries[0]: must be'],
    [[{ ...rule, when: { languages: ['iw'] } }], 'rules[0].when.languages[0]: must be'],
    [[{ ...rule, when: { countries: many } }], 'rules[0].when.countries: must be a list'],
    [[{ ...rule, when: { weekly: { ...window, days: many } } }], 'rules[0].when.weekly.days: must'],
    [[{ ...rule, split: many }], 'rules[0].split: must be a list of 2 to 10'],
    [many, 'rules: must be a list of at most 20 rules'],
    [[{ ...rule, when: { countries: [] } }], 'rules[0].when.countries: must be a list'],
    [[{ ...rule, when: { after: '2026-11-25T13:00' } }], 'rules[0].when.after: must be a time'],
    [
      [{ ...rule, when: { weekly: { days: [1], from: '6:00', to: '07:00', tz: 'UTC' } } }],
      'rules[0].when.weekly.from: must be a time of day',
    ],
    [
      [{ ...rule, when: { weekly: { days: [1], from: '06:00', to: '06:00', tz: 'UTC' } } }],
      'rules[0].when.weekly: from and to must differ',
    ],
    [
      [{ ...rule, when: { weekly: { days: [8], from: '06:00', to: '07:00', tz: 'UTC' } } }],
      'rules[0].when.weekly.days[0]: must be a day',
    ],
    [
      [{ ...rule, when: { weekly: { days: [1], from: '06:00', to: '07:00', tz: '+01:00' } } }],
      'rules[0].when.weekly.tz: must be an IANA time zone',
    ],
    [[{ ...rule, url: 'ftp://example.com' }], 'rules[0].url: Please provide a valid URL'],
    [[{ ...rule, url: 'https://own.example/x' }], 'rules[0].url: Please provide a valid URL'],
    [[{ name: 'a', when: {}, split: [entry('a')] }], 'rules[0].split: must be a list of 2 to 10'],
    [
      [{ name: 'a', when: {}, split: [entry('a'), entry('a')] }],
      'rules[0].split: has two entries of the same name',
    ],
    [
      [rule, { name: 'a', when: {}, split: [entry('a'), entry('b', 1.5)] }],
      'rules[1].split[1].weight: must be an integer',
    ],
  ];
  for (const [rules, message] of invalid) {
    it(`reject ${JSON.stringify(rules).slice(0, 60)}: ${message}`, () => {
      expect(messageOf(rules)).to.satisfy(
        (text: string) => text.startsWith(message),
        String(messageOf(rules)),
      );
    });
  }
});
