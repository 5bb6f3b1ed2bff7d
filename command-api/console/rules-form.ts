/** The form of redirect rules: conversion from and to the values of the API, and summaries. */
import type {
  RedirectRule,
  RuleConditions,
  SplitEntry,
  WeeklyWindow,
} from '../../schemas/redirect-rules.js';
import { formatTime, formatValue, ownZoneOf } from './format.js';
import { readOffset } from './in-browser.js';
import { language, once } from './locale.js';
import { timeIn } from './periods.js';
import { texts } from './all-texts.js';
import { type Attribute, attributes } from './visitor-values.js';

const text = texts.rules;

/** The maxima of the API. */
export const maxRules = 20;
export const maxEntries = 10;

export interface RuleForm {
  /** Identifies the rule while it is moved and renamed. */
  readonly id: number;
  readonly name: string;
  readonly when: RuleConditions;
  /** At least one entry. A single one is the URL of the rule, several are a split. */
  readonly entries: readonly SplitEntry[];
}

/** A condition that is empty is absent. */
type Condition = readonly string[] | string | WeeklyWindow | RuleConditions['query'] | null;

const conditions = [
  ...attributes,
  ...(['after', 'before', 'weekly', 'query', 'networks'] as const),
] as const;
type ConditionName = (typeof conditions)[number];

const isEmpty = (condition: Condition | undefined): boolean =>
  condition == null || condition === '' || Object.keys(condition).length === 0;

/** The conditions that are not empty, in a fixed order, so that equal rules have equal texts. */
const inOrder = (when: Readonly<Partial<Record<ConditionName, Condition>>>): RuleConditions =>
  Object.fromEntries(
    conditions.flatMap((name) => (isEmpty(when[name]) ? [] : [[name, when[name]]])),
  );

export const withCondition = (
  when: RuleConditions,
  name: ConditionName,
  value: Condition,
): RuleConditions => inOrder({ ...when, [name]: value });

/** The conditions of a rule on an attribute of the visitor; empty: any value matches. */
export const valuesOf = (when: RuleConditions, attribute: Attribute): readonly string[] =>
  when[attribute] ?? [];

/** Parameters as lines: `name=value`, `name=*` for any value, and `!name` for an absent one. */
export const queryText = (query: RuleConditions['query']): string =>
  Object.entries(query ?? {})
    .map(([name, value]) => (value === null ? `!${name}` : `${name}=${value}`))
    .join('\n');

/** The inverse of `queryText`. A line without a value is any value. */
export const queryOf = (lines: string): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    lines
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && line !== '!')
      .map((line) => {
        if (line.startsWith('!')) return [line.slice(1), null];
        const at = line.indexOf('=');
        return at < 0 ? [line, '*'] : [line.slice(0, at), line.slice(at + 1)];
      }),
  );

export const networksOf = (list: string): readonly string[] =>
  list.split(/[\s,]+/).filter((network) => network !== '');

/** A name with the first number or letter that no other one has. */
const unusedName = (
  taken: readonly { readonly name: string }[],
  nameAt: (index: number) => string,
): string => {
  const names = new Set(taken.map(({ name }) => name));
  let index = 0;
  while (names.has(nameAt(index))) index += 1;
  return nameAt(index);
};

export const newEntry = (entries: readonly SplitEntry[]): SplitEntry => ({
  name: unusedName(entries, (index) => String.fromCharCode(97 + index)),
  url: '',
  weight: 1,
});

/** What a new rule of a link with this URL begins with, by its name. An empty condition is to be filled. */
const templates = {
  iphones: () => ({ when: { os: ['iOS'] } }),
  country: () => ({ when: { countries: [] } }),
  'ab-test': (url) => ({ entries: [{ ...newEntry([]), url }, newEntry([newEntry([])])] }),
  // A window is shorter than a day.
  weekends: () => ({
    when: { weekly: { days: [6, 7], from: '00:00', to: '23:59', tz: ownZoneOf() } },
  }),
  rule: () => ({}),
} as const satisfies Record<string, (url: string) => Partial<RuleForm>>;

export type Template = keyof typeof templates;
export const templateNames = Object.keys(templates) as readonly Template[];

export const newRule = (rules: readonly RuleForm[], template: Template, url = ''): RuleForm => ({
  id: Math.max(-1, ...rules.map(({ id }) => id)) + 1,
  name: unusedName(rules, (index) => (index === 0 ? template : `${template}-${index + 1}`)),
  when: {},
  entries: [newEntry([])],
  ...templates[template](url),
});

export const newWindow = (tz: string): WeeklyWindow => ({
  days: [1, 2, 3, 4, 5],
  ...{ from: '09:00', to: '17:00', tz },
});

export const toForm = (rules: readonly RedirectRule[] | null): readonly RuleForm[] =>
  (rules ?? []).map((rule, id) => ({
    id,
    name: rule.name,
    when: inOrder(rule.when),
    entries: 'url' in rule ? [{ ...newEntry([]), url: rule.url }] : rule.split,
  }));

/** The `rules` of a request; `null` without rules. */
export const toRequest = (forms: readonly RuleForm[]): readonly RedirectRule[] | null =>
  forms.length === 0
    ? null
    : forms.map(({ name, entries, ...form }) => {
        const when = inOrder(form.when);
        const [first] = entries;
        return entries.length === 1 && first
          ? { name, when, url: first.url }
          : { name, when, split: [...entries] };
      });

export const haveEqualRules = (a: readonly RuleForm[], b: readonly RuleForm[]): boolean =>
  JSON.stringify(toRequest(a)) === JSON.stringify(toRequest(b));

/** Moves a rule by one position. At the end of the list, it stays. */
export const moveRule = (
  rules: readonly RuleForm[],
  index: number,
  by: -1 | 1,
): readonly RuleForm[] => {
  const [rule, other] = [rules[index], rules[index + by]];
  return rule && other ? rules.with(index, other).with(index + by, rule) : rules;
};

/** The value of an `<input type="datetime-local">`, without seconds. */
export const toLocalTime = (time: string | undefined): string =>
  time === undefined ? '' : timeIn(ownZoneOf(), new Date(time)).replace(' ', 'T');

/** The inverse of `toLocalTime`. */
export const fromLocalTime = (text: string): string => {
  if (text === '') return '';
  const local = Date.parse(`${text}Z`);
  const before = (ms: number): number => local - readOffset(ownZoneOf(), ms).ms;
  // The offset may change between the time and the same digits in UTC.
  return new Date(before(before(local))).toISOString();
};

export const dayNames = texts.values.weekdays;

/** Days of the week, such as `Mon–Fri, Sun`. */
const describeDays = (days: readonly number[]): string => {
  const starts = days.filter((day) => !days.includes(day - 1)).sort((a, b) => a - b);
  return starts
    .flatMap((start) => {
      let end = start;
      while (days.includes(end + 1)) end += 1;
      const [first = '', second = '', last = ''] = [start, start + 1, end].map(
        (day) => dayNames[day - 1],
      );
      if (end === start) return [first];
      return end === start + 1 ? [first, second] : [`${first}–${last}`];
    })
    .join(', ');
};

const alternatives = once(() => new Intl.ListFormat(language, { type: 'disjunction' }));

/** Whether the summary starts with a phrase of the catalogue, unless it starts with names of agents. */
const hasPhrase = ({ countries, languages, after, before }: RuleConditions): boolean =>
  countries !== undefined || languages !== undefined || after !== undefined || before !== undefined;

const capitalise = (phrase: string): string => phrase.charAt(0).toUpperCase() + phrase.slice(1);

/** All conditions of a rule, such as `iOS in Germany or Austria, Mon–Fri 22:00–06:00 Europe/Berlin`. */
export const describeConditions = (when: RuleConditions): string => {
  const either = (attribute: Attribute): string =>
    alternatives().format(valuesOf(when, attribute).map((value) => formatValue(attribute, value)));
  const { weekly } = when;
  const agent = [either('devices'), either('os'), either('browsers')].filter((text) => text !== '');
  const region = when.countries ? [text.inCountries(either('countries'))] : [];
  const parts = [
    [agent.join(', '), ...region].filter((part) => part !== '').join(' '),
    ...(when.languages ? [text.inLanguages(either('languages'))] : []),
    ...(when.after === undefined ? [] : [text.from(formatTime(when.after))]),
    ...(when.before === undefined ? [] : [text.until(formatTime(when.before))]),
    ...(when.query ? [queryText(when.query).replaceAll('\n', ', ')] : []),
    ...(when.networks ? [when.networks.join(', ')] : []),
    ...(weekly ? [`${describeDays(weekly.days)} ${weekly.from}–${weekly.to} ${weekly.tz}`] : []),
  ]
    .filter((part) => part !== '')
    .join(', ');
  // Names such as iOS stay as they are.
  if (parts === '') return text.allVisitors;
  return agent.length === 0 && hasPhrase(when) ? capitalise(parts) : parts;
};
