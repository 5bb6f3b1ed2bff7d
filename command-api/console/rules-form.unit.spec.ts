import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { deviceTypes, osFamilies } from '../../schemas/events/visitor.js';
import { messageWithPath, rulesField } from '../../schemas/http/rules.js';
import { maxRules as maxRulesOfApi, type RuleConditions } from '../../schemas/redirect-rules.js';
import { zones } from '../../schemas/testing/zones.js';
import {
  describeConditions,
  describeError,
  fromLocalTime,
  haveEqualRules,
  maxEntries,
  maxRules,
  moveRule,
  newEntry,
  newRule,
  toForm,
  toLocalTime,
  toRequest,
  withCondition,
  type RuleForm,
} from './rules-form.js';

const field = rulesField(() => false);

const names = fc.stringMatching(/^[\w-]{1,50}$/);
const urls = fc.nat().map((id) => `https://example.com/${id}`);
const times = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const minutes = fc
  .nat(1_439)
  .map((minute) => new Date(minute * 60_000).toISOString().slice(11, 16));

const lists = { minLength: 1, maxLength: 3 };
const weekly = fc
  .record({
    days: fc
      .uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 })
      .map((days) => days.sort((a, b) => a - b)),
    from: minutes,
    to: minutes,
    tz: fc.constantFrom(...zones),
  })
  .filter(({ from, to }) => from !== to);

/** In the order of the form. */
const conditions = fc.record(
  {
    countries: fc.uniqueArray(fc.stringMatching(/^[A-Z]{2}$/), lists),
    devices: fc.uniqueArray(fc.constantFrom(...deviceTypes), lists),
    os: fc.uniqueArray(fc.constantFrom(...osFamilies), lists),
    languages: fc.uniqueArray(fc.stringMatching(/^[a-z]{2,3}$/), lists),
    after: times,
    before: times,
    weekly,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<RuleConditions>;

const entries = fc.oneof(
  urls.map((url) => [{ ...newEntry([]), url }]),
  fc.uniqueArray(
    fc.record({ name: names, url: urls, weight: fc.integer({ min: 1, max: 1_000 }) }),
    { selector: ({ name }) => name, minLength: 2, maxLength: maxEntries },
  ),
);

const forms: fc.Arbitrary<readonly RuleForm[]> = fc
  .uniqueArray(fc.record({ name: names, when: conditions, entries }), {
    selector: ({ name }) => name,
    maxLength: 5,
  })
  .map((rules) => rules.map((rule, id) => ({ id, ...rule })));

describe('the form of redirect rules', () => {
  it('is preserved by its request, which the API accepts unchanged', () => {
    fc.assert(
      fc.property(forms, (form) => {
        const request = toRequest(form);
        expect(toForm(request)).to.deep.equal(form);
        expect(field.parse(request ?? [])).to.deep.equal(request);
      }),
      { numRuns: 30 },
    );
  });

  it('has the maxima of the API', () => {
    const url = 'https://example.com/';
    const rulesOf = (count: number): readonly RuleForm[] => {
      let rules: readonly RuleForm[] = [];
      while (rules.length < count) rules = [...rules, { ...newRule(rules), ...splitOf(1) }];
      return rules;
    };
    const splitOf = (count: number) => {
      let entries = [{ ...newEntry([]), url }];
      while (entries.length < count) entries = [...entries, { ...newEntry(entries), url }];
      return { entries };
    };
    expect(maxRules).to.equal(maxRulesOfApi);
    const accepts = (form: readonly RuleForm[]): boolean =>
      field.safeParse(toRequest(form)).success;
    expect(accepts(rulesOf(maxRules))).to.equal(true);
    expect(accepts([{ ...newRule([]), ...splitOf(maxEntries) }])).to.equal(true);
    expect(accepts([{ ...newRule([]), ...splitOf(maxEntries + 1) }])).to.equal(false);
  });

  it('removes empty conditions, and ignores the order of conditions', () => {
    const when: RuleConditions = { weekly: { days: [1], from: '01:00', to: '02:00', tz: 'UTC' } };
    expect(withCondition(when, 'weekly', null)).to.deep.equal({});
    expect(withCondition({ os: ['iOS'] }, 'os', [])).to.deep.equal({});
    expect(withCondition({ after: '2026-01-01T00:00:00.000Z' }, 'after', '')).to.deep.equal({});
    const [name, url] = ['a', 'https://example.com/'];
    const form = toForm([{ name, when: { os: ['iOS'], countries: ['DE'] }, url }]);
    const other = toForm([{ name, when: { countries: ['DE'], os: ['iOS'] }, url }]);
    expect(haveEqualRules(form, other)).to.equal(true);
    expect(haveEqualRules(form, [])).to.equal(false);
  });

  it('moves rules within the list only', () => {
    const rules = toForm(
      ['a', 'b', 'c'].map((name) => ({ name, when: {}, url: 'https://example.com/' })),
    );
    const namesOf = (moved: readonly RuleForm[]) => moved.map(({ name }) => name).join('');
    expect(namesOf(moveRule(rules, 2, -1))).to.equal('acb');
    expect(namesOf(moveRule(rules, 0, 1))).to.equal('bac');
    expect(moveRule(rules, 0, -1)).to.equal(rules);
    expect(moveRule(rules, 2, 1)).to.equal(rules);
  });

  it('shows times as local times, to the minute', () => {
    fc.assert(
      fc.property(times, (time) => {
        const local = toLocalTime(time);
        expect(new Date(local).getTime() % 60_000).to.equal(0);
        expect(toLocalTime(fromLocalTime(local))).to.equal(local);
      }),
    );
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
    const rule = { name: 'a', when: {}, url: 'https://example.com/' };
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
