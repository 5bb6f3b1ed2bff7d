/** Redirect rules of a link, as its events and rows have them. */
import { z } from 'zod';
import { responseParts } from './components.js';
import { listOf } from './list-of.js';
import { timestamp } from './events/envelope.js';
import { browserFamilies, deviceTypes, osFamilies } from './events/visitor.js';

/** More than requests may have, so that an import with longer lists costs little. */
const values = <Item extends z.ZodType>(item: Item, min = 0) =>
  listOf(item, { min, max: 100, error: 'has too many values' });

const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/);

/** A weekly window. `from` is inclusive, `to` exclusive. A window that crosses midnight belongs to its first day. */
export const weeklyWindow = z
  .strictObject({
    days: values(z.int().min(1).max(7), 1).describe('Days of the week; 1 is Monday.'),
    from: timeOfDay.describe('The start, `HH:MM` in `tz`.'),
    to: timeOfDay.describe('The end, exclusive; before `from`, it is on the next day.'),
    tz: z.string().describe('An IANA time zone.'),
  })
  .register(responseParts, { id: 'WeeklyWindow' });
export type WeeklyWindow = z.output<typeof weeklyWindow>;

/** All conditions must match; within a list, one value must match. An unknown attribute of a visit never matches. */
export const ruleConditions = z
  .strictObject({
    countries: values(z.string()).exactOptional().describe('ISO 3166-1 alpha-2, by IP address.'),
    devices: values(z.enum(deviceTypes)).exactOptional().describe('By the `User-Agent`.'),
    os: values(z.enum(osFamilies)).exactOptional().describe('By the `User-Agent`.'),
    browsers: values(z.enum(browserFamilies)).exactOptional().describe('By the `User-Agent`.'),
    languages: values(z.string()).exactOptional().describe('Primary subtags of BCP 47.'),
    after: timestamp.exactOptional().describe('The first time at which the rule matches.'),
    before: timestamp.exactOptional().describe('The time from which the rule matches no more.'),
    weekly: weeklyWindow.exactOptional().describe('When the rule matches, each week.'),
    query: z
      .record(z.string(), z.string().nullable())
      .exactOptional()
      .describe('Parameters of the query; `*`: any value, `null`: absent.'),
    networks: values(z.string()).exactOptional().describe('Addresses and CIDRs of the visitor.'),
  })
  .register(responseParts, { id: 'RuleConditions' });
export type RuleConditions = z.output<typeof ruleConditions>;

export const splitEntry = z
  .strictObject({
    name: z.string().describe('Unique in the split; visits have `rule/entry` as target.'),
    url: z.string().describe('The destination of this share of the visitors.'),
    weight: z.int().min(1).describe('Its share is this number divided by the sum of all weights.'),
  })
  .register(responseParts, { id: 'RuleSplit' });
export type SplitEntry = z.output<typeof splitEntry>;

const named = {
  name: z.string().describe('Unique in the link; visits have it as target.'),
  when: ruleConditions.describe('The visitors that the rule is for.'),
};

/** A rule leads to one URL, or to one of several by weight. */
export const redirectRule = z
  .union([
    z.strictObject({ ...named, url: z.string().describe('The destination; without a `split`.') }),
    z.strictObject({
      ...named,
      split: values(splitEntry, 2).describe('Destinations by weight, instead of `url`.'),
    }),
  ])
  .register(responseParts, { id: 'RedirectRule' });
export type RedirectRule = z.output<typeof redirectRule>;

export const maxRules = 20;

/** The rules with other URLs. */
export const mapRuleUrls = (
  rules: readonly RedirectRule[],
  map: (url: string) => string,
): RedirectRule[] =>
  rules.map((rule) =>
    'url' in rule
      ? { ...rule, url: map(rule.url) }
      : { ...rule, split: rule.split.map((entry) => ({ ...entry, url: map(entry.url) })) },
  );

/** All destinations of rules, in their order. */
export const ruleUrls = (rules: readonly RedirectRule[]): readonly string[] =>
  rules.flatMap((rule) => ('url' in rule ? [rule.url] : rule.split.map(({ url }) => url)));
