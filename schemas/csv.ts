/** CSV (RFC 4180), with a guard against formulas that a reader can remove. */

/**
 * Spreadsheets evaluate a cell that starts with one of these, except for the apostrophe, which makes a cell a text. It is
 * guarded too, so that a reader may remove the first apostrophe of any cell.
 */
const guarded = /^[=+\-@'\t\r]/;

const quoted = /["\r\n]/;

const cellOf = (value: string, delimiter: string): string => {
  const cell = guarded.test(value) ? `'${value}` : value;
  return quoted.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
};

export const csvRow = (values: readonly string[], delimiter = ','): string =>
  `${values.map((value) => cellOf(value, delimiter)).join(delimiter)}\r\n`;
