/** The columns of CSV files. The console reads pasted links by them, so this module has no dependencies of the server. */
import { isBlank, recordScanner, withoutGaps, type Cells } from './csv-records.js';

export type Field =
  | 'code'
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
  | 'forwardQuery';

/** Columns are in lower case, without white space and `_`; the first one with a value counts. */
export interface CsvColumns {
  readonly columns: Partial<Readonly<Record<Field, readonly string[]>>>;
  /** One of these columns, or all of one of these lists, tell the format from other ones. */
  readonly marks: readonly (readonly string[])[];
  /** The prefix of cells that a spreadsheet would read as formulas. */
  readonly formulaGuard: RegExp | null;
  readonly separateTags: (cell: string) => readonly string[];
  /** Whether the file can have two columns, code and URL in either order, without a header. */
  readonly canLackHeader: boolean;
}

/** Tags are separated by `,`; if there is none, by `|`. */
export const separateTags = (cell: string): readonly string[] =>
  cell.split(cell.includes(',') ? ',' : '|');

/** The columns of files without a format of their own. */
export const csvColumns: CsvColumns = {
  columns: {
    code: [
      ...[
        'code',
        'slug',
        'shortcode',
        'keyword',
        'alias',
        'short',
        'shorturl',
        'link',
        'shortlink',
      ],
      'source',
    ],
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
    forwardQuery: ['forwardquery'],
  },
  marks: [],
  formulaGuard: /^'(?=[=+\-@'\t\r])/,
  separateTags,
  canLackHeader: true,
};

const headerName = (cell: string): string => cell.toLowerCase().replaceAll(/[\s_\ufeff]/g, '');

/** How to read the records of a file. */
export interface Layout {
  readonly delimiter: string;
  readonly hasHeader: boolean;
  /** Number of columns. */
  readonly width: number;
  /** The columns of a field, in the order of `CsvColumns.columns`. */
  readonly columns: ReadonlyMap<Field, readonly number[]>;
  /** A column that the header has twice. */
  readonly duplicate: string | null;
}

const readHeader = (
  cells: Cells,
  format: CsvColumns,
  delimiter: string,
  required: readonly Field[],
): Layout | null => {
  const names = cells.map(headerName);
  const hasMarks = (marks: readonly string[]): boolean =>
    marks.every((name) => names.includes(name));
  if (format.marks.length > 0 && !format.marks.some(hasMarks)) return null;
  const known = Object.entries(format.columns) as (readonly [Field, readonly string[]])[];
  const columns = new Map(
    known.map(([field, aliases]) => [
      field,
      aliases.map((name) => names.indexOf(name)).filter((index) => index >= 0),
    ]),
  );
  if (!required.every((field) => columns.get(field)?.length)) return null;
  const duplicate = names.findIndex(
    (name, index) =>
      names.indexOf(name) < index && known.some(([, aliases]) => aliases.includes(name)),
  );
  return {
    ...{ delimiter, hasHeader: true, width: cells.length, columns },
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
  return { delimiter, hasHeader: false, width: 2, columns, duplicate: null };
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
 * @param required the fields of which a header has at least one column
 * @returns `null` if the file is not of the format
 */
export const detectLayout = (
  head: string,
  format: CsvColumns,
  required: readonly Field[] = ['code', 'url'],
): Layout | null => {
  const [line = '', given] = delimiterLine.exec(head) ?? [];
  const text = head.slice(line.length);
  const delimiters = given === undefined ? [',', ';', '\t'] : [given];
  for (const delimiter of delimiters) {
    const [header] = sampleRecords(text, delimiter, 1);
    const layout = header && readHeader(header, format, delimiter, required);
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
export const cellReader = (cells: Cells, { columns }: Layout, { formulaGuard }: CsvColumns) => {
  const cellAt = (index: number): string => {
    const cell = cells[index] ?? '';
    return formulaGuard && cell.startsWith("'") ? cell.replace(formulaGuard, '') : cell;
  };
  return {
    cellAt,
    cellOf: (field: Field): string => {
      for (const index of columns.get(field) ?? []) if (cells[index]) return cellAt(index);
      return '';
    },
  };
};

/** The tags of a cell, trimmed, without empty ones. */
export const tagsOfCell = (cell: string, { separateTags: separate }: CsvColumns) =>
  separate(cell)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
