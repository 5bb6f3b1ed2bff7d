/** Formats times and names for the console, in the language and the format of the browser. */
import { formatNumber, language, locale, once } from './locale.js';
import { zoneOrUtc } from './periods.js';
import { texts } from './texts.js';

const timeFormat = (options: Intl.DateTimeFormatOptions) =>
  once(() => new Intl.DateTimeFormat(locale, { timeZone: ownZoneOf(), ...options }));
const namesOf = (type: Intl.DisplayNamesType) =>
  once(() => new Intl.DisplayNames(language, { type }));

/** @param limit `null`: none */
export const formatLimit = (limit: number | null): string =>
  limit === null ? texts.components.anyNumber : formatNumber(limit);

const times = timeFormat({ dateStyle: 'medium', timeStyle: 'short' });
const clocks = timeFormat({ timeStyle: 'medium' });
const dates = timeFormat({ dateStyle: 'medium' });
const countries = namesOf('region');
const languages = namesOf('language');

const utc = { timeZone: 'UTC' } as const;
const days = timeFormat({ dateStyle: 'medium', ...utc });

/** Some browsers report an empty zone, or none. */
type Reported = Partial<Intl.ResolvedDateTimeFormatOptions>;

const reportedZone = once(
  () => (new Intl.DateTimeFormat().resolvedOptions() as Reported).timeZone ?? '',
);
let chosenZone = '';

/** Sets the zone of a user whose browser reports none that the API knows. */
export const chooseZone = (zone: string): void => {
  chosenZone = zone;
};

export const isZoneUnknown = (): boolean =>
  reportedZone() !== 'UTC' && zoneOrUtc(reportedZone()) === 'UTC';

export const ownZoneOf = once(() => zoneOrUtc(isZoneUnknown() ? chosenZone : reportedZone()));

export const formatTime = (time: string): string => times().format(new Date(time));
export const formatClock = (time: string): string => clocks().format(new Date(time));
export const formatDate = (time: string): string => dates().format(new Date(time));

/** A day without a zone, such as `2026-12-01`. */
export const formatDay = (day: string): string => days().format(new Date(day));

const periods = timeFormat({ dateStyle: 'medium', timeStyle: 'short', ...utc });

/** A period of days or local times without a zone, such as `Nov 1 – 24, 2026`. */
export const formatPeriod = (from: string, to: string): string =>
  to.includes('T')
    ? periods().formatRange(new Date(from), new Date(`${to}Z`))
    : // The shown end is inclusive.
      days().formatRange(new Date(from), new Date(Date.parse(to) - 86_400_000));

const starts = {
  hour: timeFormat({
    ...{ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', ...utc },
  }),
  day: timeFormat({ month: 'short', day: 'numeric', ...utc }),
  month: timeFormat({ month: 'short', year: 'numeric', ...utc }),
};

/** Formats the start of an interval, such as `2026-11-22T00:00:00+05:45`. Its digits are already local time. */
export const formatStart = (start: string, interval: string): string => {
  const format = interval === 'hour' || interval === 'month' ? starts[interval] : starts.day;
  return format().format(new Date(`${start.slice(0, 16)}Z`));
};

const { events } = texts.values;
const allNames = Object.keys(events) as readonly (keyof typeof events)[];

export const linkEventNames = allNames.filter((name) => name.startsWith('Link'));

/** The event types that a webhook can select: `feedEventNames` of schemas/feed.ts, which would add zod to the client. */
export const eventNames = allNames.filter((name) =>
  /^(?:Link|ApiKey|Domain|Webhook|Person|Invitation|Utm|.*Share)/.test(name),
);

/** The event types that operators can select: `changeTypes` of schemas/http/operators.ts. */
export const changeNames = allNames.filter(
  (name) => !/^(?:LinkVisited|LinkImported|Calls|Qr)/.test(name),
);

/** `linklog.LinkCreated.v1` or `LinkCreated` in words: `Link created`. */
export const formatEventType = (type: string): string => {
  const name = type.split('.')[1] ?? type;
  return Object.hasOwn(events, name) ? events[name as keyof typeof events] : name;
};

const nameBy = (displayNames: Intl.DisplayNames, code: string): string => {
  try {
    return displayNames.of(code) ?? code;
  } catch {
    // Not a code.
    return code;
  }
};

/** Creates a function that returns the display name of a value of a breakdown. */
export const createFormatValue =
  (
    { visits, ...names }: typeof texts.values,
    countries: () => Intl.DisplayNames,
    languages: () => Intl.DisplayNames,
  ) =>
  (dimension: string, value: string | null): string => {
    if (value === null && dimension === 'referrers') return names.directOrUnknown;
    if (value === null) return dimension === 'targets' ? names.noRule : names.unknown;
    if (value === '(other)') return names.allOthers;
    switch (dimension) {
      case 'countries':
        return nameBy(countries(), value);
      case 'languages':
        return nameBy(languages(), value);
      case 'devices':
      case 'triggers':
        return Object.hasOwn(visits, value) ? visits[value as keyof typeof visits] : value;
      default:
        return value;
    }
  };

export const formatValue = createFormatValue(texts.values, countries, languages);
