/** The texts of the console in its language. */
import { language } from './locale.js';
import { formatNumber } from './numbers.js';
import type { Texts } from './texts/en/texts.js';

/** A browser loads only its own catalogue. */
const catalogues = {
  en: () => import('./texts/en/texts.js'),
  de: () => import('./texts/de/texts.js'),
} as const;

export const texts: Texts = (await catalogues[language]()).createTexts(formatNumber);
