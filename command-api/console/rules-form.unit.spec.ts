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
    );
  });

  it('has the maxima of the API', () => {
    const url = 'https://example.com/';
    const rulesOf = (count: number): readonly RuleForm[] =>
      Array.from({ length: count }, (_, id) => id).reduce<readonly RuleForm[]>(
        (rules) => [...rules, { ...newRule(rules), entries: [{ ...newEntry([]), url }] }],
        [],
      );
    const splitOf = (count: number): readonly RuleForm[] => {
      let split = [{ ...newEntry([]), url }];
      while (split.length < count) split = [...split, { ...newEntry(split), url }];
      return [{ ...newRule([]), entries: split }];
    };
    expect(maxRules).to.equal(maxRulesOfApi);
    const accepts = (form: readonly RuleForm[]): boolean =>
      field.safeParse(toRequest(form)).success;
    expect(accepts(rulesOf(maxRules))).to.equal(true);
    expect(accepts(splitOf(maxEntries))).to.equal(true);
    expect(accepts(splitOf(maxEntries + 1))).to.equal(false);
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
    expect(
      describeConditions({
        ...{ os: ['iOS'], countries: ['DE', 'AT'] },
        weekly: { days: [1, 2, 3, 4, 5], ...night },
      }),
    ).to.equal('iOS in Germany or Austria, Mon–Fri 22:00–06:00 Europe/Berlin');
    expect(describeConditions({})).to.equal('All visitors');
    expect(describeConditions({ countries: ['CH'] })).to.equal('In Switzerland');
    expect(describeConditions({ devices: ['tv', 'mobile'], languages: ['de'] })).to.equal(
      'TV or Mobile, language German',
    );
    const days = [1, 2, 4, 6, 7];
    expect(describeConditions({ weekly: { days, ...night } })).to.equal(
      'Mon, Tue, Thu, Sat, Sun 22:00–06:00 Europe/Berlin',
    );
  });

  it('describes the path of an error', () => {
    const rule = { name: 'a', when: {}, url: 'https://example.com/' };
    const entry = { name: 'a', url: 'https://example.com/', weight: 1 };
    const errorOf = (rules: unknown): string => {
      const { error } = z.object({ rules: field }).safeParse({ rules });
      const [issue] = error?.issues ?? [];
      return issue ? describeError(messageWithPath(issue)) : '';
    };
    expect(errorOf([rule, { ...rule, when: { countries: ['DE', 'de'] } }])).to.match(
      /^Rule 2, countries: must be an ISO 3166-1/,
    );
    expect(errorOf([{ ...rule, url: null, split: [entry, { ...entry, weight: 0 }] }])).to.match(
      /^Rule 1, entry 2, weight: must be an integer/,
    );
    expect(errorOf([{ ...rule, when: 1 }])).to.equal('Rule 1: must be an object');
    expect(errorOf([rule, rule])).to.equal('rules: has two rules of the same name');
    expect(describeError('Please provide a valid URL')).to.equal('Please provide a valid URL');
    expect(describeError('rules[1].url: Please provide a valid URL', 'No host.')).to.equal(
      'Rule 2, url: No host.',
    );
    expect(describeError('Please provide a valid URL', 'No host.')).to.equal('No host.');
  });
});
