/** What spreadsheets take for the beginning of a formula. */
const formula = /^[=+\-@\t\r\n]/;

/** In quotes always; an apostrophe keeps what looks like a formula a text. */
const cell = (value: string): string =>
  `"${(formula.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`;

/** A table as RFC 4180 has it, for spreadsheets: with a byte order mark, since Excel guesses otherwise. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  `\ufeff${rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')}`;
