import { isCreation, type LinklogEvent, type UsageEvent } from '../events/catalogue.js';

/** The amounts that one event adds to a key's month. */
export interface Spending {
  readonly keyId: string;
  /** The first day of the month, UTC: `2026-05-01`. */
  readonly month: string;
  readonly calls: number;
  /** New links and further codes. */
  readonly links: number;
  readonly qrCodes: number;
  /** New links. */
  readonly allLinks: number;
}

/** The first day of a timestamp's month, UTC. */
export const monthOf = (timestamp: string): string => `${timestamp.slice(0, 7)}-01`;

/** The first day of the month after that of a day. */
export const monthAfter = (month: string): string => {
  const first = new Date(month);
  first.setUTCMonth(first.getUTCMonth() + 1, 1);
  return first.toISOString().slice(0, 10);
};

const nothing = { calls: 0, links: 0, qrCodes: 0, allLinks: 0 } as const;

/** The key of links that an operator created or imported. They cost nothing. */
export const operatorsKeyId = 'operator';

/** The spending of an event; `null` if it costs nothing. */
export const spendingOf = (event: LinklogEvent): Spending | null => {
  if (isCreation(event)) {
    if (event.data.keyId === operatorsKeyId) return null;
    const { keyId } = event.data;
    return { ...nothing, keyId, month: monthOf(event.time), links: 1, allLinks: 1 };
  }
  if (event.type === 'linklog.LinkCodeAdded.v1') {
    const { keyId } = event.data;
    if (keyId === operatorsKeyId) return null;
    return { ...nothing, keyId, month: monthOf(event.time), links: 1 };
  }
  if (event.type === 'linklog.CallsMetered.v1') {
    const { minute, calls } = event.data;
    return { ...nothing, keyId: event.subject, month: monthOf(minute), calls };
  }
  if (event.type === 'linklog.QrRendered.v1') {
    return { ...nothing, keyId: event.subject, month: monthOf(event.time), qrCodes: 1 };
  }
  return null;
};

/** Calls, links and QR codes of a month. */
type MonthCounts = readonly [calls: number, links: number, qrCodes: number];

/** The spending of a key in its latest month with spending, and in the months before. */
export interface KeyMeter {
  /** The first day of the month, UTC: `2026-05-01`. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** The newest three of the other months, by their first day, in case the clock goes back. */
  readonly otherMonths: Readonly<Record<string, MonthCounts>>;
  /** Links of all months. */
  readonly allLinks: number;
  /** The sequence of the key's last event in the topic of usage. */
  readonly usageSequence: number;
}

export const unusedMeter: KeyMeter = {
  month: '1970-01-01',
  ...nothing,
  otherMonths: {},
  usageSequence: 0,
};

const maxOtherMonths = 3;

/** Adds counts to one of the months, and keeps the newest months. */
const addToMonth = (
  months: KeyMeter['otherMonths'],
  month: string,
  { calls, links, qrCodes }: Pick<Spending, 'calls' | 'links' | 'qrCodes'>,
): KeyMeter['otherMonths'] => {
  const [oldCalls, oldLinks, oldQrCodes] = months[month] ?? [0, 0, 0];
  const counts = [oldCalls + calls, oldLinks + links, oldQrCodes + qrCodes] as const;
  const newestFirst = Object.entries({ ...months, [month]: counts })
    .filter(([, values]) => values.some((count) => count > 0))
    .sort(([a], [b]) => (a < b ? 1 : -1));
  return Object.fromEntries(newestFirst.slice(0, maxOtherMonths));
};

/** The monthly part of a meter, with `month` as its latest month. */
export const inMonth = (
  meter: Pick<KeyMeter, 'month' | 'calls' | 'links' | 'qrCodes' | 'otherMonths'>,
  month: string,
): typeof meter => {
  if (month === meter.month) return meter;
  const { [month]: counts, ...others } = meter.otherMonths;
  const [calls, links, qrCodes] = counts ?? [0, 0, 0];
  const otherMonths = addToMonth(others, meter.month, meter);
  return { month, calls, links, qrCodes, otherMonths };
};

/** The meter after an event of its topic, usage. */
export const evolveMeter = (meter: KeyMeter, event: UsageEvent): KeyMeter => {
  const spending = spendingOf(event);
  const spent = spending ? addSpending(meter, spending) : meter;
  return { ...spent, usageSequence: event.sequence };
};

/** Adds a spending to a meter. Months may come in any order. */
export const addSpending = (meter: KeyMeter, spending: Spending): KeyMeter => {
  const { month } = spending;
  const allLinks = meter.allLinks + spending.allLinks;
  if (month < meter.month) {
    return { ...meter, allLinks, otherMonths: addToMonth(meter.otherMonths, month, spending) };
  }
  const { calls, links, qrCodes, otherMonths } = inMonth(meter, month);
  return {
    month,
    calls: calls + spending.calls,
    links: links + spending.links,
    qrCodes: qrCodes + spending.qrCodes,
    otherMonths,
    allLinks,
    usageSequence: meter.usageSequence,
  };
};
