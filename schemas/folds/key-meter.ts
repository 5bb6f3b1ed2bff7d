import type { Spending } from './spending.js';

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

export const unusedMeter: KeyMeter = {
  month: '1970-01-01',
  calls: 0,
  links: 0,
  qrCodes: 0,
  usageSequence: 0,
};

/** What a spending makes of a meter. Months may come in any order; an earlier one says nothing. */
export const addSpending = (meter: KeyMeter, spending: Spending): KeyMeter => {
  const { month, calls, links, qrCodes } = spending;
  if (month < meter.month) return meter;
  const { usageSequence } = meter;
  if (month > meter.month) return { month, calls, links, qrCodes, usageSequence };
  return {
    month,
    calls: meter.calls + calls,
    links: meter.links + links,
    qrCodes: meter.qrCodes + qrCodes,
    usageSequence,
  };
};
