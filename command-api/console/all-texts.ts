/** All texts of the console in its language, for the pages that a browser loads later. */
import { formatNumber, language } from './locale.js';
import { createTexts, texts as firstTexts } from './texts.js';

const catalogues = {
  en: () => import('./texts/en/later-texts.js'),
  de: () => import('./texts/de/later-texts.js'),
} as const;

type English = Awaited<ReturnType<(typeof catalogues)['en']>>;

export const texts = {
  ...firstTexts,
  ...createTexts<English>(await catalogues[language](), formatNumber),
};
