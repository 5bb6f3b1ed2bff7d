/** The texts of the console in its language that its first page needs. The others are in `all-texts.ts`. */
import { formatNumber, type FormatNumber, language } from './locale.js';

/** A browser loads only its own catalogue. */
const catalogues = {
  en: () => import('./texts/en/texts.js'),
  de: () => import('./texts/de/texts.js'),
} as const;

type Texts<Catalogue> = {
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
export const createTexts = <Catalogue extends object>(
  catalogue: Catalogue,
  number: FormatNumber,
): Texts<Catalogue> =>
  Object.fromEntries(
    Object.entries(catalogue).map(([name, section]: [string, unknown]) => [
      name,
      typeof section === 'function'
        ? (section as (number: FormatNumber) => unknown)(number)
        : section,
    ]),
  ) as Texts<Catalogue>;

type English = Awaited<ReturnType<(typeof catalogues)['en']>>;

export const texts = createTexts<English>(await catalogues[language](), formatNumber);
