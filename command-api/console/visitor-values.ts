/** The values of visitors that redirect rules can have as conditions, with their names. */
import { countryCodes } from '../../schemas/countries.js';
import { browserFamilies, deviceTypes, osFamilies } from '../../schemas/events/visitor.js';
import { formatValue } from './format.js';
import { locale, once } from './locale.js';
import { texts } from './texts.js';

/** ISO 639-1, and Filipino, whose browsers send a code of ISO 639-2. */
const languages = (
  'aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy ' +
  'da de dv dz ee el en eo es et eu fa ff fi fil fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ' +
  'ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky ' +
  'la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc ' +
  'oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su ' +
  'sv sw ta te tg th ti tk tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu'
).split(' ');

export const attributes = ['countries', 'devices', 'os', 'browsers', 'languages'] as const;
export type Attribute = (typeof attributes)[number];

export const attributeNames: Readonly<Record<Attribute, string>> = texts.values.attributes;

type Options = readonly (readonly [value: string, name: string])[];

const named = (attribute: Attribute, values: readonly string[]): Options =>
  values.map((value) => [value, formatValue(attribute, value)]);

const sorted = (options: Options): Options =>
  options.toSorted(([, a], [, b]) => a.localeCompare(b, locale));

const options: Readonly<Record<Attribute, () => Options>> = {
  countries: once(() => sorted(named('countries', countryCodes))),
  devices: once(() => named('devices', deviceTypes)),
  os: once(() => named('os', osFamilies)),
  browsers: once(() => named('browsers', browserFamilies)),
  languages: once(() => sorted(named('languages', languages))),
};

/** The values of an attribute with their names, and additional values that a rule already has. */
export const optionsOf = (attribute: Attribute, own: readonly string[] = []): Options => {
  const known = options[attribute]();
  const missing = own.filter((value) => known.every(([option]) => option !== value));
  return [...known, ...named(attribute, missing)];
};

/** The values of a visitor; `null`: unknown. */
export interface Visitor extends Readonly<Record<Attribute, string | null>> {
  readonly query: string | null;
  readonly address: string | null;
}

type Patterns = readonly (readonly [name: string, pattern: RegExp])[];

/** The first pattern that matches counts: user agents name other browsers and systems too. */
const osPatterns: Patterns = [
  ['Windows', /Windows NT/],
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['macOS', /Macintosh/],
  ['Chrome OS', /CrOS/],
  ['Linux', /Linux/],
];
const browserPatterns: Patterns = [
  ['Microsoft Edge', /Edg/],
  ['Opera', /OPR\//],
  ['Samsung Internet for Android', /SamsungBrowser/],
  ['Firefox', /Firefox|FxiOS/],
  ['Chrome', /Chrome|CriOS/],
  ['Safari', /Safari/],
];
const devicePatterns: Patterns = [
  ['tablet', /iPad|Android(?!.*Mobile)/],
  ['mobile', /Mobile/],
  ['desktop', /Windows NT|Macintosh|CrOS|Linux/],
];

const firstMatch = (patterns: Patterns, text: string): string | null =>
  patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? null;

/**
 * The visitor that the current browser probably is. The country is a guess by the region of the language.
 *
 * @param language BCP 47, such as `de-AT`
 */
export const visitorOf = (userAgent: string, language: string): Visitor => {
  const [, primary = null] = /^([a-z]{2,3})(?:-|$)/.exec(language) ?? [];
  const [, region = null] = /-([A-Z]{2})(?:-|$)/.exec(language) ?? [];
  return {
    countries: region,
    devices: firstMatch(devicePatterns, userAgent),
    os: firstMatch(osPatterns, userAgent),
    browsers: firstMatch(browserPatterns, userAgent),
    languages: primary,
    ...{ query: null, address: null },
  };
};
