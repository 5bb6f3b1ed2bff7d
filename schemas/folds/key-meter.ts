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

const monthOf = (timestamp: string): string => `${timestamp.slice(0, 7)}-01`;

const nothing = { calls: 0, links: 0, qrCodes: 0 } as const;

/** What an event says was spent; `null` for one that costs nothing. */
export const spendingOf = (event: LinklogEvent): Spending | null => {
  if (event.type === 'linklog.LinkCreated.v1') {
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

/** What a key has spent in the latest month in which it spent anything. */
export interface KeyMeter {
  /** The month's first day, UTC: `2026-05-01`. */
  readonly month: string;
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** Of the key's last event in the topic of usage. */
  readonly usageSequence: number;
}

export const unusedMeter: KeyMeter = { month: '1970-01-01', ...nothing, usageSequence: 0 };

/** What a spending makes of a meter. Months may come in any order; an earlier one says nothing. */
export const addSpending = (meter: KeyMeter, spending: Spending): KeyMeter => {
  const { month } = spending;
  if (month < meter.month) return meter;
  const { calls, links, qrCodes } = month > meter.month ? nothing : meter;
  return {
    month,
    calls: calls + spending.calls,
    links: links + spending.links,
    qrCodes: qrCodes + spending.qrCodes,
    usageSequence: meter.usageSequence,
  };
};
