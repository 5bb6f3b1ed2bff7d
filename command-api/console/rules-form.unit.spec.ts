import { webDestinations } from '../../schemas/http/link-fields.js';
import { expect } from 'chai';
import { z } from 'zod';
import { messageWithPath, rulesField } from '../../schemas/http/rules.js';
import { maxRules as maxRulesOfApi, type RuleConditions } from '../../schemas/redirect-rules.js';
import { describeError } from './describe-error.js';
import { ownZoneOf } from './format.js';
import {
  describeConditions,
  fromLocalTime,
  haveEqualRules,
  maxEntries,
  maxRules,
  moveRule,
  newEntry,
  newRule,
  templateNames,
  toForm,
  toLocalTime,
  toRequest,
  withCondition,
  type RuleForm,
} from './rules-form.js';

const field = rulesField(webDestinations);

const url = 'https://example.com/';
const time = '2026-11-27T22:30:00.000Z';
const weekly = { days: [1, 5], from: '22:00', to: '06:00', tz: 'Europe/Berlin' };

/** The order of the form. */
const allConditions: RuleConditions = {
  ...{ countries: ['DE', 'AT'], devices: ['tv', 'mobile'], os: ['iOS'], languages: ['de', 'nds'] },
  ...{ after: time, before: '2027-01-01T00:00:00.000Z', weekly },
};

const forms: readonly (readonly RuleForm[])[] = [
  [],
  [{ id: 0, name: 'all', when: allConditions, entries: [{ ...newEntry([]), url }] }],
  [
    { id: 0, name: 'one', when: { before: time }, entries: [{ ...newEntry([]), url }] },
    {
      ...{ id: 1, name: 'split', when: {} },
      entries: [
        { name: 'a', url, weight: 1 },
        { name: 'b-2', url: `${url}b`, weight: 1_000 },
      ],
    },
  ],
];

describe('the form of redirect rules', () => {
  it('is preserved by its request, which the API accepts unchanged', () => {
    for (const form of forms) {
      const request = toRequest(form);
      expect(toForm(request)).to.deep.equal(form);
      expect(field.parse(request ?? [])).to.deep.equal(request);
    }
  });

  it('has the maxima of the API', () => {
    expect(maxRules).to.equal(maxRulesOfApi);
    const accepts = (count: number): boolean => {
      let entries = [{ ...newEntry([]), url }];
      while (entries.length < count) entries = [...entries, { ...newEntry(entries), url }];
      return field.safeParse(toRequest([{ ...newRule([], 'rule'), entries }])).success;
    };
    expect([maxEntries, maxEntries + 1].map(accepts)).to.deep.equal([true, false]);
  });

  it('begins with templates that become rules of the API when their URLs are filled', () => {
    const rules = templateNames.map((template) => newRule([], template));
    const filled = rules.map(({ entries, ...rule }) => ({
      ...rule,
      entries: entries.map((entry) => ({ ...entry, url })),
    }));
    const request = toRequest(filled);
    expect(field.safeParse(request).success).to.equal(true);
    expect(request?.map(({ name, when }) => [name, describeConditions(when)])).to.deep.equal([
      ['iphones', 'iOS'],
      ['country', 'All visitors'],
      ['ab-test', 'All visitors'],
      ['weekends', `Sat, Sun 00:00–23:59 ${ownZoneOf()}`],
      ['rule', 'All visitors'],
    ]);
    const [first] = rules;
    expect(newRule(first ? [first] : [], 'iphones')).to.include({ id: 1, name: 'iphones-2' });
    const test = newRule([], 'ab-test', url);
    expect(test.entries.map((entry) => entry.url)).to.deep.equal([url, '']);
  });

  it('removes empty conditions, and ignores the order of conditions', () => {
    const when: RuleConditions = { weekly: { days: [1], from: '01:00', to: '02:00', tz: 'UTC' } };
    expect(withCondition(when, 'weekly', null)).to.deep.equal({});
    expect(withCondition({ os: ['iOS'] }, 'os', [])).to.deep.equal({});
    expect(withCondition({ after: '2026-01-01T00:00:00.000Z' }, 'after', '')).to.deep.equal({});
    const name = 'a';
    const form = toForm([{ name, when: { os: ['iOS'], countries: ['DE'] }, url }]);
    const other = toForm([{ name, when: { countries: ['DE'], os: ['iOS'] }, url }]);
    expect(haveEqualRules(form, other)).to.equal(true);
    expect(haveEqualRules(form, [])).to.equal(false);
  });

  it('moves rules within the list only', () => {
    const rules = toForm(['a', 'b', 'c'].map((name) => ({ name, when: {}, url })));
    const namesOf = (moved: readonly RuleForm[]) => moved.map(({ name }) => name).join('');
    expect(namesOf(moveRule(rules, 2, -1))).to.equal('acb');
    expect(namesOf(moveRule(rules, 0, 1))).to.equal('bac');
    expect(moveRule(rules, 0, -1)).to.equal(rules);
    expect(moveRule(rules, 2, 1)).to.equal(rules);
  });

  it('shows times as local times, to the minute', () => {
    for (const shown of [time, '2026-07-01T12:00:59.999Z', '1970-01-01T00:00:30.000Z']) {
      const local = toLocalTime(shown);
      expect(new Date(local).getTime() % 60_000).to.equal(0);
      expect(toLocalTime(fromLocalTime(local))).to.equal(local);
    }
    expect(toLocalTime(undefined)).to.equal('');
    expect(fromLocalTime('')).to.equal('');
  });

  it('summarizes conditions', () => {
    const night = { from: '22:00', to: '06:00', tz: 'Europe/Berlin' };
    const weekdays = { days: [1, 2, 3, 4, 5], ...night };
    const others = { days: [1, 2, 4, 6, 7], ...night };
    const summaries: readonly (readonly [RuleConditions, string])[] = [
      [
        { os: ['iOS'], countries: ['DE', 'AT'], weekly: weekdays },
        'iOS in Germany or Austria, Mon–Fri 22:00–06:00 Europe/Berlin',
      ],
      [{}, 'All visitors'],
      [{ countries: ['CH'] }, 'In Switzerland'],
      [{ devices: ['tv', 'mobile'], languages: ['de'] }, 'TV or Mobile, language German'],
      [{ weekly: others }, 'Mon, Tue, Thu, Sat, Sun 22:00–06:00 Europe/Berlin'],
    ];
    for (const [when, text] of summaries) expect(describeConditions(when)).to.equal(text);
  });

  it('describes the path of an error', () => {
    const rule = { name: 'a', when: {}, url };
    const entry = { name: 'a', url: 'https://example.com/', weight: 1 };
    const errorOf = (rules: unknown): string => {
      const { error } = z.object({ rules: field }).safeParse({ rules });
      const [issue] = error?.issues ?? [];
      return issue ? describeError(messageWithPath(issue)) : '';
    };
    const split = [entry, { ...entry, weight: 0 }];
    for (const [rules, error] of [
      [
        [rule, { ...rule, when: { countries: ['DE', 'de'] } }],
        /^Rule 2, countries: must be an ISO/,
      ],
      [[{ ...rule, url: null, split }], /^Rule 1, entry 2, weight: must be an integer/],
      [[{ ...rule, when: 1 }], /^Rule 1: must be an object$/],
      [[rule, rule], /^rules: has two rules of the same name$/],
    ] as const) {
      expect(errorOf(rules)).to.match(error);
    }
    const invalid = 'Please provide a valid URL';
    expect(describeError(invalid)).to.equal(invalid);
    expect(describeError(`rules[1].url: ${invalid}`, 'No host.')).to.equal('Rule 2, url: No host.');
    expect(describeError(invalid, 'No host.')).to.equal('No host.');
  });
});
