/** The language of the console, and the format of its numbers and dates. */

const languages = ['en', 'de'] as const;
type Language = (typeof languages)[number];

/** The first language of the browser that has a catalogue; otherwise English. */
export const chooseLanguage = (preferred: readonly string[]): Language => {
  const primary = preferred.map((tag) => tag.split('-', 1)[0]);
  return (
    primary.flatMap((name) => languages.find((language) => language === name) ?? [])[0] ?? 'en'
  );
};

declare const navigator: { readonly language: string; readonly languages: readonly string[] };

/** Tests run without a browser, in English. */
const inBrowser = 'document' in globalThis;

export const language: Language = inBrowser ? chooseLanguage(navigator.languages) : 'en';

/** BCP 47: the format of numbers and dates. It may differ from the language of the texts. */
export const locale: string = inBrowser ? navigator.language : 'en';

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

/** The language of the console and the format of its numbers and dates. */
