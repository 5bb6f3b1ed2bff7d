/** Redirect rules of a link, as its events and rows have them. */
import { z } from 'zod';
import { responseParts } from './components.js';
import { listOf } from './list-of.js';
import { timestamp } from './events/envelope.js';
import { browserFamilies, deviceTypes, osFamilies } from './events/visitor.js';

/** More than requests may have, so that an import with longer lists costs little. */
const values = <Item extends z.ZodType>(item: Item, min = 0) =>
  listOf(item, { min, max: 100, error: 'has too many values' });

/** `HH:MM` in the zone of the window. */
const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/);

/** A weekly window. `from` is inclusive, `to` exclusive. A window that crosses midnight belongs to its first day. */
const weeklyWindow = z
  .strictObject({
    /** 1 is Monday. */
    days: values(z.int().min(1).max(7), 1),
    from: timeOfDay,
    to: timeOfDay,
    /** IANA name. */
    tz: z.string(),
  })
  .register(responseParts, { id: 'WeeklyWindow' });
export type WeeklyWindow = z.output<typeof weeklyWindow>;

/** All conditions must match; within a list, one value must match. An unknown attribute of a visit never matches. */
const ruleConditions = z
  .strictObject({
    /** ISO 3166-1 alpha-2. */
    countries: values(z.string()).exactOptional(),
    devices: values(z.enum(deviceTypes)).exactOptional(),
    os: values(z.enum(osFamilies)).exactOptional(),
    browsers: values(z.enum(browserFamilies)).exactOptional(),
    /** Primary subtags of BCP 47. */
    languages: values(z.string()).exactOptional(),
    /** Inclusive. */
    after: timestamp.exactOptional(),
    /** Exclusive. */
    before: timestamp.exactOptional(),
    weekly: weeklyWindow.exactOptional(),
  })
  .register(responseParts, { id: 'RuleConditions' });
export type RuleConditions = z.output<typeof ruleConditions>;

const splitEntry = z
  .strictObject({
    name: z.string(),
    url: z.string(),
    weight: z.int().min(1),
  })
  .register(responseParts, { id: 'RuleSplit' });
export type SplitEntry = z.output<typeof splitEntry>;

const named = { name: z.string(), when: ruleConditions };

/** A rule leads to one URL, or to one of several by weight. */
export const redirectRule = z
  .union([
    z.strictObject({ ...named, url: z.string() }),
    z.strictObject({ ...named, split: values(splitEntry, 2) }),
  ])
  .register(responseParts, { id: 'RedirectRule' });
export type RedirectRule = z.output<typeof redirectRule>;

export const maxRules = 20;

/** The rules with other URLs. */
export const mapRuleUrls = (
  rules: readonly RedirectRule[],
  map: (url: string) => string,
): readonly RedirectRule[] =>
  rules.map((rule) =>
    'url' in rule
      ? { ...rule, url: map(rule.url) }
      : { ...rule, split: rule.split.map((entry) => ({ ...entry, url: map(entry.url) })) },
  );

/** The fields of a link that determine where it leads. */
export interface RuledLink {
  readonly url: string;
  /** `null`: none. */
  readonly rules: readonly RedirectRule[] | null;
}

/** All possible destinations of a link. */
export const destinationsOf = ({ url, rules }: RuledLink): readonly string[] => [
  url,
  ...ruleUrls(rules ?? []),
];

/** All destinations of rules, in their order. */
export const ruleUrls = (rules: readonly RedirectRule[]): readonly string[] =>
  rules.flatMap((rule) => ('url' in rule ? [rule.url] : rule.split.map(({ url }) => url)));
