/**
 * Reads what `linklog import --from shlink` sends (`shlink-api`): one object per line, with a short URL of Shlink's
 * REST API and its redirect rules, or with a visit. The shapes are in `docs/swagger` of Shlink.
 */
import { isCountry } from '../../../schemas/countries.js';
import { languageOfSubtag } from '../../../schemas/languages.js';
import { z } from 'zod';
import type { browserFamilies, osFamilies } from '../../../schemas/events/visitor.js';
import { networkIn } from '../../../schemas/networks.js';
import { maxRules, redirectRule, type RedirectRule } from '../../../schemas/redirect-rules.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  count,
  jsonReader,
  optionalText,
  optionalTexts,
  recordList,
  textOf,
  linkValues,
} from './json.js';
import {
  invalidRecord,
  quote,
  storageFault,
  type ReaderOptions,
  type SourceReader,
  type SourceRecord,
} from './records.js';
import { domainOf, readShortUrl } from './short-url.js';
import { readTime } from './times.js';

const shlinkRule = z.object({
  longUrl: z.string(),
  priority: z.number().nullish(),
  conditions: recordList(
    z.object({ type: z.string(), matchKey: optionalText, matchValue: optionalText }),
  ),
});
type ShlinkRule = z.output<typeof shlinkRule>;
type ShlinkCondition = ShlinkRule['conditions'][number];

const shlinkLink = z.object({
  shortCode: z.string(),
  shortUrl: optionalText,
  longUrl: z.string(),
  domain: optionalText,
  title: optionalText,
  tags: optionalTexts,
  dateCreated: optionalText,
  meta: z
    .object({
      validSince: optionalText,
      validUntil: optionalText,
      maxVisits: z.int().nullish(),
    })
    .nullish(),
  visitsSummary: z.object({ total: count }).nullish(),
  /** Versions without `visitsSummary` have it. */
  visitsCount: count,
  /** Shlink's default is `true`. */
  forwardQuery: z
    .boolean()
    .nullish()
    .transform((value) => value ?? true),
  /** Shlink 3.5 to 3.7: URL by device, before there were redirect rules. */
  deviceLongUrls: z.record(z.string(), optionalText).nullish(),
});
type ShlinkLink = z.output<typeof shlinkLink>;

const shlinkVisit = z.object({
  date: z.string(),
  referer: optionalText,
  userAgent: optionalText,
  visitLocation: z.object({ countryCode: optionalText }).nullish(),
});

const line = z.object({
  link: shlinkLink.nullish(),
  rules: recordList(shlinkRule).nullish(),
  visit: shlinkVisit.nullish(),
  shortCode: optionalText,
  domain: optionalText,
});
type Line = z.output<typeof line>;

/** The devices of Shlink are systems: `mobile` includes tablets (`module/Core/src/Model/DeviceType.php`). */
const systems = new Map<string, readonly (typeof osFamilies)[number][]>([
  ['android', ['Android']],
  ['ios', ['iOS']],
  ['mobile', ['Android', 'iOS']],
  ['windows', ['Windows']],
  ['macos', ['macOS']],
  ['linux', ['Linux']],
  ['chromeos', ['Chrome OS']],
  ['desktop', ['Windows', 'macOS', 'Linux', 'Chrome OS']],
]);

const browsers = new Map<string, readonly (typeof browserFamilies)[number][]>([
  ['chrome', ['Chrome']],
  ['firefox', ['Firefox']],
  ['edge', ['Microsoft Edge']],
  ['safari', ['Safari']],
  ['opera', ['Opera']],
  ['android_browser', ['Android Browser']],
]);

/** A condition of ours: one of the values must match, a time, or parameters of the query. */
type Condition = readonly [
  field: 'os' | 'browsers' | 'countries' | 'languages' | 'networks' | 'after' | 'before' | 'query',
  value: readonly string[] | string | Readonly<Record<string, string>>,
];

const condition = (
  field: Condition[0],
  value: Condition[1] | null | undefined,
): Condition | null => (value === null || value === undefined ? null : [field, value]);

/** An address, a CIDR, or an IPv4 address that ends with wildcards; `null` if it is none. */
const networkOf = (text: string): string | null => {
  const parts = text.split('.');
  const known = parts.findIndex((part) => part === '*');
  const isWildcard =
    known > 0 && parts.length === 4 && parts.slice(known).every((part) => part === '*');
  const network = isWildcard ? `${text.replaceAll('*', '0')}/${known * 8}` : text;
  return networkIn(network) ? network : null;
};

/** `null` if we have no such condition. */
const conditionOf = (
  { type, matchKey, matchValue }: ShlinkCondition,
  zone: string,
): Condition | null => {
  const [name, value] = [matchKey ?? '', matchValue ?? ''];
  switch (type) {
    case 'query-param':
      // `*` is any value here.
      return name === '' || value === '*' ? null : ['query', { [name]: value }];
    case 'any-value-query-param':
      return name === '' ? null : ['query', { [name]: '*' }];
    case 'valueless-query-param':
      return name === '' ? null : ['query', { [name]: '' }];
    case 'ip-address': {
      const network = networkOf(value.trim());
      return condition('networks', network && [network]);
    }
    case 'device':
      return condition('os', systems.get(value));
    case 'browser':
      return condition('browsers', browsers.get(value));
    case 'geolocation-country-code':
      // Another code than that of a country makes the link invalid, as in requests.
      return ['countries', [value.toUpperCase()]];
    case 'language': {
      // A language of one country, such as de-AT, has no equivalent.
      const language = languageOfSubtag(value.trim().toLowerCase());
      return condition('languages', language && [language]);
    }
    case 'after-date':
      return condition('after', readTime(value, zone));
    case 'before-date':
      return condition('before', readTime(value, zone));
    default:
      return null;
  }
};

const isQuery = (value: Condition[1]): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && !Array.isArray(value);

/** A rule, or why it has no equivalent. */
type ReadRule = { readonly rule: RedirectRule } | { readonly fault: string };

/** All conditions must match, in both services. */
const readRule = (name: string, { longUrl, conditions }: ShlinkRule, zone: string): ReadRule => {
  if (conditions.length === 0) return { fault: 'it has no conditions, so that it never applies' };
  const when = new Map<Condition[0], Condition[1]>();
  for (const given of conditions) {
    const { type, matchKey, matchValue } = given;
    const read = conditionOf(given, zone);
    if (!read) {
      const shown = [matchKey, matchValue].filter((text) => text).join('=');
      return { fault: `its condition ${quote(`${type}: ${shown}`)} has no equivalent` };
    }
    const [field, value] = read;
    const known = when.get(field) ?? value;
    if (isQuery(known) && isQuery(value)) {
      if (Object.entries(value).some(([name, text]) => (known[name] ?? text) !== text)) {
        return { fault: `its several conditions ${quote(type)} have no equivalent` };
      }
      when.set(field, { ...known, ...value });
      continue;
    }
    if (isQuery(known) || isQuery(value)) continue;
    if (typeof known === 'string' || typeof value === 'string') {
      // Times in this format sort as text.
      when.set(field, (field === 'after') === known > value ? known : value);
      continue;
    }
    const common = known.filter((entry) => value.includes(entry));
    // A visit has one system, browser and country. It has one language here, but several ones at Shlink.
    if (common.length === 0) {
      return { fault: `its several conditions ${quote(type)} have no equivalent` };
    }
    when.set(field, common);
  }
  const rule = { name, when: Object.fromEntries<unknown>(when), url: trimInvisible(longUrl) };
  return { rule: redirectRule.parse(rule) };
};

const readRules = (
  rules: readonly ShlinkRule[],
  zone: string,
  messages: string[],
): readonly RedirectRule[] => {
  const sorted = [...rules].sort((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
  const equivalents = sorted.flatMap((shlink, index) => {
    const read = readRule(`rule-${index + 1}`, shlink, zone);
    if ('rule' in read) return [read.rule];
    messages.push(`Redirect rule ${index + 1} was left out: ${read.fault}.`);
    return [];
  });
  if (equivalents.length > maxRules) {
    messages.push(
      `${equivalents.length - maxRules} redirect rules were left out: a link has at most ${maxRules}.`,
    );
  }
  return equivalents.slice(0, maxRules);
};

const deviceRules = (urls: ShlinkLink['deviceLongUrls']): readonly ShlinkRule[] =>
  Object.entries(urls ?? {}).flatMap(([matchValue, longUrl]) =>
    longUrl ? [{ longUrl, conditions: [{ type: 'device', matchValue }] }] : [],
  );

const readLink = (
  row: number,
  link: ShlinkLink,
  rules: readonly ShlinkRule[] | null,
  options: ReaderOptions,
): SourceRecord => {
  const { meta } = link;
  const values = linkValues(row, options);
  const shlinkRules = rules ?? deviceRules(link.deviceLongUrls);
  const fields = {
    code: link.shortCode,
    domain: domainOf(link.domain ?? '') ?? readShortUrl(link.shortUrl ?? '').domain,
    url: trimInvisible(link.longUrl),
    title: link.title ?? null,
    tags: link.tags ?? [],
    createdAt: values.time('dateCreated', link.dateCreated),
    startsAt: values.time('validSince', meta?.validSince, true),
    expiresAt: values.time('validUntil', meta?.validUntil, true),
    maxClicks: meta?.maxVisits ?? null,
    clicks: link.visitsSummary?.total ?? link.visitsCount,
  };
  return values.link(fields, {
    forwardQuery: link.forwardQuery,
    rules: readRules(shlinkRules, options.linkZone, values.messages),
  });
};

const nonEmpty = (text: string | null | undefined): string | null => {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
};

const readVisit = (
  row: number,
  { date, referer, userAgent, visitLocation }: z.output<typeof shlinkVisit>,
  { shortCode, domain }: Line,
  { visitZone }: ReaderOptions,
): SourceRecord => {
  if (!shortCode) return invalidRecord(row, 'The visit has no code.');
  const time = readTime(date, visitZone);
  if (time === null) {
    const message = `The time of the visit, ${quote(date)}, is not a time.`;
    return invalidRecord(row, message, { code: shortCode });
  }
  const country = visitLocation?.countryCode?.toUpperCase() ?? '';
  const visit = {
    ...{ code: shortCode, domain: domainOf(domain ?? ''), time },
    country: isCountry(country) ? country : null,
    referrer: nonEmpty(referer),
    userAgent: nonEmpty(userAgent),
  };
  const fault = storageFault(Object.values(visit).join(' '));
  if (fault === null) return { type: 'visit', row, visit };
  return invalidRecord(row, `The visit has ${fault}.`, { code: shortCode });
};

const knownOf = (object: object): { code: string | null; url: string | null } => {
  const { link } = object as { readonly link?: unknown };
  const isObject = typeof link === 'object' && link !== null;
  return {
    code: isObject ? textOf(link, 'shortCode') : textOf(object, 'shortCode'),
    url: isObject ? textOf(link, 'longUrl') : null,
  };
};

export const readShlinkApi: SourceReader = jsonReader({
  name: 'JSON of Shlink',
  schema: line,
  knownOf,
  canBeEmpty: true,
  toRecords: (object, row, options) => {
    const { link, rules, visit } = object;
    if (link) return [readLink(row, link, rules ?? null, options)];
    if (visit) return [readVisit(row, visit, object, options)];
    return [invalidRecord(row, 'The record has neither a link nor a visit.', knownOf(object))];
  },
});
