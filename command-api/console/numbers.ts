/** Formats numbers for the console, in the format of the browser. */
import { locale } from './locale.js';

/** Creates a value on first use: each `Intl` object takes a millisecond or more. */
export const once = <Value>(create: () => Value): (() => Value) => {
  let value: Value | undefined;
  return () => (value ??= create());
};

const numberFormat = (options: Intl.NumberFormatOptions) =>
  once(() => new Intl.NumberFormat(locale, options));

const numbers = numberFormat({});
const shares = numberFormat({ style: 'percent', maximumFractionDigits: 1 });
const changes = numberFormat({
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
});

export type FormatNumber = (value: number) => string;

export const formatNumber: FormatNumber = (value) => numbers().format(value);

/** `part` of `whole`, such as `12.5%`. */
export const formatShare = (part: number, whole: number): string =>
  shares().format(whole === 0 ? 0 : part / whole);

/** The change from `before` to `now`, such as `+12%`; `null` if `before` is 0. */
export const formatChange = (now: number, before: number): string | null =>
  before === 0 ? null : changes().format((now - before) / before);
