import { csvRow } from '../../schemas/csv.js';

/** A table for spreadsheets, with a byte order mark, without which Excel guesses the encoding. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  `\ufeff${rows.map(csvRow).join('')}`;
