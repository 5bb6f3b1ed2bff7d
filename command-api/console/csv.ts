import { separatedBy } from '../../schemas/csv.js';
import { listSeparator } from './numbers.js';

/**
 * A table for spreadsheets, with a byte order mark, without which Excel guesses the encoding. Excel splits cells at the
 * list separator of its locale.
 */
export const toCsv = (
  rows: readonly (readonly string[])[],
  separator: ',' | ';' = listSeparator(),
): string => `\ufeff${rows.map(separatedBy(separator)).join('')}`;
