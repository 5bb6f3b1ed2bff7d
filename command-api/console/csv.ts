import { csvRow } from '../../schemas/csv.js';
import { locale } from './locale.js';

/** The delimiter that spreadsheets expect in a locale: `;` where the comma separates decimals. */
export const delimiterOf = (tag: string): ',' | ';' =>
  new Intl.NumberFormat(tag).format(0.5).includes(',') ? ';' : ',';

/** A table for spreadsheets, with a byte order mark, without which Excel guesses the encoding. */
export const toCsv = (
  rows: readonly (readonly string[])[],
  delimiter = delimiterOf(locale),
): string => `\ufeff${rows.map((row) => csvRow(row, delimiter)).join('')}`;
