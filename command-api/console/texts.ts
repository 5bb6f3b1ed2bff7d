/** The texts of the console in its language. */
import { formatNumber, type FormatNumber, language } from './locale.js';

/** A browser loads only its own catalogue. */
const catalogues = {
  en: () => import('./texts/en/texts.js'),
  de: () => import('./texts/de/texts.js'),
} as const;

type Catalogue = Awaited<ReturnType<(typeof catalogues)['en']>>;

type Texts = {
  readonly [Section in keyof Catalogue]: Catalogue[Section] extends (
    number: FormatNumber,
  ) => infer T
    ? T
    : Catalogue[Section];
};

/**
 * Catalogues get the formatter of numbers, because a browser would wait forever for a catalogue that imported modules
 * of the bundle that waits for it.
 */
export const createTexts = (catalogue: Catalogue, number: FormatNumber): Texts =>
  Object.fromEntries(
    Object.entries(catalogue).map(([name, section]) => [
      name,
      typeof section === 'function' ? section(number) : section,
    ]),
  ) as Texts;

export const texts = createTexts(await catalogues[language](), formatNumber);
