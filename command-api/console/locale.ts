/** The language of the console and the format of its numbers and dates. */

/** The languages that have a catalogue in `texts/`. */
export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

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
