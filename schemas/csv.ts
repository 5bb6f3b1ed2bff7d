/** CSV (RFC 4180), with a guard against formulas that a reader can remove. */

/**
 * Spreadsheets evaluate a cell that starts with one of these, except for the apostrophe, which makes a cell a text. It is
 * guarded too, so that a reader may remove the first apostrophe of any cell.
 */
const guarded = /^[=+\-@'\t\r]/;

const cellOf = (value: string, separator: string): string => {
  const cell = guarded.test(value) ? `'${value}` : value;
  const isQuoted = cell.includes(separator) || /["\r\n]/.test(cell);
  return isQuoted ? `"${cell.replaceAll('"', '""')}"` : cell;
};

/** Writes rows with a separator. */
export const separatedBy =
  (separator: ',' | ';') =>
  (values: readonly string[]): string =>
    `${values.map((value) => cellOf(value, separator)).join(separator)}\r\n`;

/** A row with its line end. */
export const csvRow = separatedBy(',');
