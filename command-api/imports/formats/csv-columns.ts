/** The columns of CSV files. The console reads pasted links by them, so this module has no dependencies of the server. */
import type { OptionName } from '../../../schemas/link-options.js';
import { isBlank, recordScanner, withoutGaps, type Cells } from './csv-records.js';

export type Field =
  | 'code'
  | 'shortUrl'
  | 'url'
  | 'domain'
  | 'title'
  | 'note'
  | 'tags'
  | 'createdAt'
  | 'startsAt'
  | 'expiresAt'
  | 'maxClicks'
  | 'clicks'
  | 'disabled'
  | 'archived'
  | 'hasPassword'
  | 'codes'
  | OptionName;

/** Columns are in lower case, without white space and `_`; the first one with a value counts. */
export interface CsvColumns {
  readonly columns: Partial<Readonly<Record<Field, readonly string[]>>>;
  /** The prefix of cells that a spreadsheet would read as formulas. */
  readonly formulaGuard: RegExp | null;
  readonly separateTags: (cell: string) => readonly string[];
  /** Whether the file can have two columns, code and URL in either order, without a header. */
  readonly canLackHeader: boolean;
}

/** Tags are separated by `,`; if there is none, by `|`. */
const separateTags = (cell: string): readonly string[] =>
  cell.split(cell.includes(',') ? ',' : '|');

/** The columns of files without a format of their own. */
export const csvColumns: CsvColumns = {
  columns: {
    code: ['code', 'slug', 'shortcode', 'keyword', 'alias', 'short'],
    shortUrl: ['shorturl', 'link', 'shortlink', 'source'],
    url: ['url', 'longurl', 'destination', 'destinationurl', 'target', 'long', 'originalurl'],
    domain: ['domain'],
    title: ['title'],
    note: ['note', 'notes', 'description'],
    tags: ['tags'],
    createdAt: ['createdat', 'created', 'timestamp'],
    startsAt: ['startsat'],
    expiresAt: ['expiresat'],
    maxClicks: ['maxclicks'],
    clicks: ['clicks', 'counter', 'hits', 'visits'],
    disabled: ['disabled'],
    archived: ['archived'],
    hasPassword: ['haspassword'],
    codes: ['codes'],
  },
  formulaGuard: /^'(?=[=+\-@'\t\r])/,
  separateTags,
  canLackHeader: true,
};

const headerName = (cell: string): string => cell.toLowerCase().replaceAll(/[\s_\ufeff]/g, '');

/** How to read the records of a file. */
export interface Layout {
  readonly delimiter: string;
  readonly hasHeader: boolean;
  readonly width: number;
  /** The names of the columns as in the header; empty if there is none. */
  readonly names: Cells;
  /** The columns of a field, in the order of `CsvColumns.columns`. */
  readonly columns: ReadonlyMap<Field, readonly number[]>;
  /** A column that the header has twice. */
  readonly duplicate: string | null;
}

export const maxColumns = 200;

const readHeader = (
  cells: Cells,
  format: CsvColumns,
  delimiter: string,
  needsCode: boolean,
): Layout | null => {
  if (cells.length > maxColumns) return null;
  const names = cells.map(headerName);
  const known = Object.entries(format.columns) as (readonly [Field, readonly string[]])[];
  const columns = new Map(
    known.map(([field, aliases]) => [
      field,
      aliases.map((name) => names.indexOf(name)).filter((index) => index >= 0),
    ]),
  );
  const has = (field: Field): boolean => (columns.get(field)?.length ?? 0) > 0;
  if (!has('url') || (needsCode && !has('code') && !has('shortUrl'))) return null;
  const duplicate = names.findIndex(
    (name, index) =>
      names.indexOf(name) < index && known.some(([, aliases]) => aliases.includes(name)),
  );
  return {
    ...{ delimiter, hasHeader: true, width: cells.length, columns, names: cells },
    duplicate: cells[duplicate] ?? null,
  };
};

const isUrl = (cell: string): boolean => /^\s*[a-z][a-z0-9+.-]*:(?!\d+(?:\/|$))\S/i.test(cell);

/** Another URL after a delimiter: the text was split at the wrong character. */
const hasSecondUrl = (cell: string): boolean => /[,;\s]https?:\/\//i.test(cell);

const hostOf = (cell: string | undefined): string =>
  /^\s*https?:\/\/([^/?#]*)/i.exec(cell ?? '')?.[1] ?? '';

/** Which one of two columns has the URLs. Of two columns with URLs, the one with a single host has the short links. */
const urlColumn = (records: readonly Cells[]): 0 | 1 | null => {
  const [first = '', second = ''] = records[0] ?? [];
  if (!isUrl(first) && !isUrl(second)) return null;
  if (!isUrl(first)) return 1;
  if (!isUrl(second)) return 0;
  const hosts = (column: number): number =>
    new Set(records.map((cells) => hostOf(cells[column]).toLowerCase())).size;
  return hosts(0) > 1 && hosts(1) === 1 ? 0 : 1;
};

const withoutHeader = (records: readonly Cells[], delimiter: string): Layout | null => {
  const [first] = records;
  if (first?.length !== 2 || first.some(hasSecondUrl)) return null;
  const url = urlColumn(records);
  if (url === null) return null;
  const columns = new Map<Field, readonly number[]>([
    ['url', [url]],
    ['code', [1 - url]],
  ]);
  return { delimiter, hasHeader: false, width: 2, columns, names: [], duplicate: null };
};

const maxSampleSteps = 100;

/** Records at the start of a file, to detect its layout. */
export const sampleRecords = (
  head: string,
  delimiter: string,
  maxRecords = 50,
): readonly Cells[] => {
  const readRecord = recordScanner(delimiter.charCodeAt(0));
  const records: Cells[] = [];
  // The number of steps is bounded, so that malformed records do not use up the budget of the scanner.
  for (let [position, steps] = [0, 0]; steps < maxSampleSteps; steps += 1) {
    if (position >= head.length || records.length === maxRecords) break;
    const step = readRecord(head, position, true);
    if (step?.item && 'cells' in step.item && !isBlank(step.item.cells)) {
      records.push(withoutGaps(step.item.cells, delimiter));
    }
    position = step?.next ?? head.length;
  }
  return records;
};

/** Excel reads the delimiter of a file from its first line. */
export const delimiterLine = /^sep=([,;\t])[,;\t]*(?:\r\n|\r|\n|$)/i;

/**
 * The layout of a file.
 *
 * @param head the start of the file
 * @param needsCode whether a header has a column with the code or the short URL
 * @returns `null` if the file is not of the format
 */
export const detectLayout = (head: string, format: CsvColumns, needsCode = true): Layout | null => {
  const [line = '', given] = delimiterLine.exec(head) ?? [];
  const text = head.slice(line.length);
  const delimiters = given === undefined ? [',', ';', '\t'] : [given];
  for (const delimiter of delimiters) {
    const [header] = sampleRecords(text, delimiter, 1);
    const layout = header && readHeader(header, format, delimiter, needsCode);
    if (layout) return layout;
  }
  if (!format.canLackHeader) return null;
  // Cells with tabs between them may contain spaces.
  const mayBeSpaces = given === undefined && !text.includes('\t');
  for (const delimiter of mayBeSpaces ? [...delimiters, ' '] : delimiters) {
    const layout = withoutHeader(sampleRecords(text, delimiter), delimiter);
    if (layout) return layout;
  }
  return null;
};

/** Reads the cells of a record by field: the first column with a value, without the guard against formulas. */
export const cellReader = (
  cells: Cells,
  { columns, names }: Layout,
  { formulaGuard }: CsvColumns,
) => {
  const columnOf = (field: Field): number =>
    columns.get(field)?.find((index) => cells[index]) ?? -1;
  return {
    nameOf: (field: Field): string => names[columnOf(field)] ?? field,
    cellOf: (field: Field): string => {
      const cell = cells[columnOf(field)] ?? '';
      return formulaGuard && cell.startsWith("'") ? cell.replace(formulaGuard, '') : cell;
    },
  };
};

/** The names of the columns without one of these fields. */
export const otherColumns = (
  { names, columns }: Layout,
  fields: readonly Field[],
): readonly string[] => {
  const used = new Set(fields.flatMap((field) => columns.get(field) ?? []));
  return names.filter((name, index) => !used.has(index) && name.trim() !== '');
};

/** The tags of a cell, trimmed, without empty ones. */
export const tagsOfCell = (cell: string, { separateTags: separate }: CsvColumns) =>
  separate(cell)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
