/** Parses CSV (RFC 4180) with line ends CR LF, for tests. */
export const parseCsv = (text: string): string[][] => {
  const cells = text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy);
  const rows: string[][] = [];
  let row: string[] = [];
  let length = 0;
  for (const [match, quoted, plain = '', end] of cells) {
    length += match.length;
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  if (length !== text.length) throw new Error(`character ${length} is not valid CSV: ${text}`);
  return rows;
};

/** Removes the guard against formulas. */
export const withoutGuard = (cell: string): string => cell.replace(/^'/, '');
