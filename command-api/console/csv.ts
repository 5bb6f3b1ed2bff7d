/** Spreadsheets treat a cell that starts with one of these as a formula. */
const formula = /^[=+\-@\t\r\n]/;

/** An apostrophe makes a cell a text. */
const cell = (value: string): string =>
  `"${(formula.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;

/** A table in CSV (RFC 4180), with a byte order mark, without which Excel guesses the encoding. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  `\ufeff${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`;
