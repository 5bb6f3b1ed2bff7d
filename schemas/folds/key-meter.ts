import type { LinklogEvent } from '../events/catalogue.js';

/** What one event adds to a key's month. */
export interface Spending {
  readonly keyId: string;
  /** The month's first day, UTC: `2026-05-01`. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
}

/** The first day of a timestamp's month, UTC. */
export const monthOf = (timestamp: string): string => `${timestamp.slice(0, 7)}-01`;

/** The first day of the month after that of a day. */
export const monthAfter = (month: string): string => {
  const first = new Date(month);
  first.setUTCMonth(first.getUTCMonth() + 1, 1);
  return first.toISOString().slice(0, 10);
};

const nothing = { calls: 0, links: 0, qrCodes: 0 } as const;

/** What an event says was spent; `null` for one that costs nothing. */
export const spendingOf = (event: LinklogEvent): Spending | null => {
  if (event.type === 'linklog.LinkCreated.v3') {
    return { ...nothing, keyId: event.data.keyId, month: monthOf(event.time), links: 1 };
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

/** What a key has spent in the latest month in which it spent anything, and in the months before. */
export interface KeyMeter {
  /** The month's first day, UTC: `2026-05-01`. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** The newest three of the other months, by their first day: a clock that goes back needs them. */
  readonly otherMonths: Readonly<Record<string, MonthCounts>>;
  /** Links of all months. */
  readonly allLinks: number;
  /** Of the key's last event in the topic of usage. */
  readonly usageSequence: number;
}

export const unusedMeter: KeyMeter = {
  month: '1970-01-01',
  ...nothing,
  otherMonths: {},
  allLinks: 0,
  usageSequence: 0,
};

const keptMonths = 3;

/** The months with these counts added to one of them; the newest of them. */
const addToMonth = (
  months: KeyMeter['otherMonths'],
  month: string,
  { calls, links, qrCodes }: Omit<Spending, 'keyId' | 'month'>,
): KeyMeter['otherMonths'] => {
  const [hadCalls, hadLinks, hadQrCodes] = months[month] ?? [0, 0, 0];
  const counts = [hadCalls + calls, hadLinks + links, hadQrCodes + qrCodes] as const;
  const all = Object.entries({ ...months, [month]: counts })
    .filter(([, each]) => each.some((count) => count > 0))
    .sort(([a], [b]) => (a < b ? 1 : -1));
  return Object.fromEntries(all.slice(0, keptMonths));
};

/** The part of a meter that counts by the month, with this month as its latest. */
export const inMonth = (
  meter: Pick<KeyMeter, 'month' | 'calls' | 'links' | 'qrCodes' | 'otherMonths'>,
  month: string,
): typeof meter => {
  if (month === meter.month) return meter;
  const { [month]: had, ...others } = meter.otherMonths;
  const [calls, links, qrCodes] = had ?? [0, 0, 0];
  const otherMonths = addToMonth(others, meter.month, meter);
  return { month, calls, links, qrCodes, otherMonths };
};

/** What a spending makes of a meter. Months may come in any order. */
export const addSpending = (meter: KeyMeter, spending: Spending): KeyMeter => {
  const { month } = spending;
  const allLinks = meter.allLinks + spending.links;
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
