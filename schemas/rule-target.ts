import type { RedirectRule, RuleConditions, WeeklyWindow } from './redirect-rules.js';
import { isInNetworks, ofLast } from './networks.js';
import { readOffset, type Offset } from './zone-offset.js';

/** The properties of a visit that rules can use; `null`: unknown. */
export interface RuledVisit {
  readonly country: string | null;
  readonly device: string | null;
  readonly os: string | null;
  readonly browser: string | null;
  readonly language: string | null;
  /** Without the question mark. */
  readonly query: string;
  /** Empty: unknown. */
  readonly address: string;
  /** The visitor hash of the day: the same visitor gets the same entry of a split. */
  readonly visitor: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface RuleTarget {
  readonly url: string;
  /** The `target` of the visit: `rule`, or `rule/entry`. */
  readonly target: string;
}

const minuteMs = 60_000;
const dayMinutes = 1_440;
const weekMinutes = 7 * dayMinutes;
/** 1970-01-01 was a Thursday: minutes from the Monday before. */
const epochMinutes = 3 * dayMinutes;

/** By IANA name. There are about 600 zones, so the map is bounded. */
const offsets = new Map<string, Offset>();

const offsetAt = (tz: string, now: number): number => {
  const known = offsets.get(tz);
  if (known && known.from <= now && now < known.until) return known.ms;
  const offset = readOffset(tz, now);
  offsets.set(tz, offset);
  return offset.ms;
};

const minutesOf = (timeOfDay: string): number =>
  Number(timeOfDay.slice(0, 2)) * 60 + Number(timeOfDay.slice(3));

export const isInWindow = ({ days, from, to, tz }: WeeklyWindow, now: number): boolean => {
  const localMinutes = Math.floor((now + offsetAt(tz, now)) / minuteMs) + epochMinutes;
  const minute = ((localMinutes % weekMinutes) + weekMinutes) % weekMinutes;
  const [start, end] = [minutesOf(from), minutesOf(to)];
  const length = end > start ? end - start : end + dayMinutes - start;
  return days.some((day) => {
    const sinceStart = minute - ((day - 1) * dayMinutes + start);
    return (sinceStart + weekMinutes) % weekMinutes < length;
  });
};

const isOneOf = (values: readonly string[] | undefined, value: string | null): boolean =>
  values === undefined || (value !== null && values.includes(value));

/** The decoded values of each parameter of a query. */
const parametersIn = ofLast((query: string) => {
  const parameters = new Map<string, Set<string>>();
  for (const [name, value] of new URLSearchParams(query)) {
    const values = parameters.get(name);
    if (values) values.add(value);
    else parameters.set(name, new Set([value]));
  }
  return parameters;
});

/** Of a repeated parameter, any value matches. */
const matchesQuery = (
  conditions: Readonly<Record<string, string | null>>,
  query: string,
): boolean => {
  const sent = parametersIn(query);
  return Object.entries(conditions).every(([name, value]) => {
    const values = sent.get(name);
    return value === null ? !values : values !== undefined && (value === '*' || values.has(value));
  });
};

export const matches = (when: RuleConditions, visit: RuledVisit): boolean =>
  isOneOf(when.countries, visit.country) &&
  isOneOf(when.devices, visit.device) &&
  isOneOf(when.os, visit.os) &&
  isOneOf(when.browsers, visit.browser) &&
  isOneOf(when.languages, visit.language) &&
  (when.after === undefined || Date.parse(when.after) <= visit.now) &&
  (when.before === undefined || visit.now < Date.parse(when.before)) &&
  (when.weekly === undefined || isInWindow(when.weekly, visit.now)) &&
  (when.query === undefined || matchesQuery(when.query, visit.query)) &&
  (when.networks === undefined || isInNetworks(when.networks, visit.address));

/** The first rule whose conditions all match; `undefined` if none does. */
export const matchingRule = (
  rules: readonly RedirectRule[],
  visit: RuledVisit,
): RedirectRule | undefined => rules.find(({ when }) => matches(when, visit));

/** FNV-1a, 32 bits. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
};

const hashes = 2 ** 32;

/**
 * The target of a visit by the first rule that matches; `null` if none does. A visitor gets the same entry of a split
 * all day, on every edge; a visit without `visitor` gets a random one.
 *
 * @param random a number from 0 (inclusive) to 1 (exclusive)
 */
export const targetOf = (
  rules: readonly RedirectRule[],
  visit: RuledVisit,
  random: () => number,
): RuleTarget | null => {
  const rule = matchingRule(rules, visit);
  if (!rule) return null;
  if ('url' in rule) return { url: rule.url, target: rule.name };
  const { name, split } = rule;
  const share = visit.visitor === null ? random() : hashOf(`${name} ${visit.visitor}`) / hashes;
  let remaining = share * split.reduce((sum, { weight }) => sum + weight, 0);
  const entry = split.find(({ weight }) => (remaining -= weight) < 0) ?? split.at(-1);
  return entry ? { url: entry.url, target: `${name}/${entry.name}` } : null;
};
