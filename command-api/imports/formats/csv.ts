/**
 * Readers of CSV files (RFC 4180).
 *
 * The records are split here and not by a library: after an unclosed quote, libraries that were tested read the rest of
 * the file as one cell. Here a record with a fault ends on its first line, and the next line is read as a record.
 */
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  archivedTag,
  emptyLink,
  invalidRecord,
  linkRecord,
  quote,
  readCount,
  readOptionalTime,
} from './records.js';
import { rescanBudget, scan, scanLength, type Scanner } from './scan.js';
import { readShortUrl } from './short-url.js';
import {
  ImportFileFault,
  maxRecordLength,
  type ReaderOptions,
  type SourceReader,
  type SourceRecord,
} from './source-record.js';
import { readTime, readUsTime } from './times.js';

type Field =
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

/** A CSV format. Its columns are in lower case, without white space and `_`; the first one with a value counts. */
export interface CsvFormat {
  readonly name: string;
  readonly columns: Partial<Readonly<Record<Field, readonly string[]>>>;
  /** One of these columns, or all of one of these lists, tell the format from other ones. */
  readonly marks: readonly (readonly string[])[];
  /** The prefix of cells that a spreadsheet would read as formulas. */
  readonly formulaGuard: RegExp | null;
  readonly separateTags: (cell: string) => readonly string[];
  readonly readTime: (text: string, zone: string) => string | null;
  /** Whether the file can have two columns, code and URL in either order, without a header. */
  readonly canLackHeader: boolean;
}

/** Tags are separated by `,`; if there is none, by `|`. */
const separateTags = (cell: string): readonly string[] =>
  cell.split(cell.includes(',') ? ',' : '|');

export const csv: CsvFormat = {
  name: 'CSV',
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
  readTime,
  canLackHeader: true,
};

/** `short_urls.csv` of Shlink's web client. Old versions have no columns `shortCode` and `domain`. */
export const shlinkCsv: CsvFormat = {
  name: 'CSV of Shlink',
  columns: {
    code: ['shortcode', 'shorturl'],
    url: ['longurl'],
    domain: ['domain'],
    title: ['title'],
    tags: ['tags'],
    createdAt: ['createdat'],
    clicks: ['visits'],
  },
  marks: [['shorturl', 'longurl', 'visits']],
  formulaGuard: null,
  separateTags: (cell) => cell.split('|'),
  readTime,
  canLackHeader: false,
};

/** Exports of Bitly's pages have had several headers. */
export const bitlyCsv: CsvFormat = {
  name: 'CSV of Bitly',
  columns: {
    code: ['customlink', 'custombitlink', 'link', 'bitlink', 'shortlink', 'shorturl'],
    url: ['destinationurl', 'longurl', 'originalurl', 'destination'],
    title: ['title'],
    tags: ['tags'],
    createdAt: ['created', 'createdat', 'datecreated', 'creationdate'],
    clicks: ['engagements', 'totalengagements', 'totalclicks', 'clicks'],
    archived: ['archived'],
  },
  marks: [['customlink'], ['custombitlink'], ['bitlink'], ['link', 'destinationurl']],
  formulaGuard: null,
  separateTags,
  readTime: readUsTime,
  canLackHeader: false,
};

export const dubCsv: CsvFormat = {
  name: 'CSV of Dub',
  columns: {
    code: ['shortlink'],
    url: ['destinationurl'],
    tags: ['tags'],
    createdAt: ['createdat'],
    clicks: ['clicks'],
    archived: ['archived'],
  },
  marks: [['shortlink', 'destinationurl']],
  formulaGuard: /^'(?=[=+\-@\t\r\n])/,
  separateTags: (cell) => cell.split(','),
  readTime,
  canLackHeader: false,
};

type Cells = readonly string[];

/** A record of the file, or why it has none. */
type CsvRecord = { readonly cells: Cells } | { readonly fault: string };

const [lineFeed, carriageReturn, space, quoteMark] = [10, 13, 32, 34];

const tooLong = `The record is longer than ${maxRecordLength.toLocaleString('en')} characters.`;
const unclosedQuote = 'The record has a quote that is not closed.';
const textAfterQuote = 'The record has text after a closing quote.';

/** The position after the quoted cell that starts at `start`, and its text; `null`: the text ends before. */
const readQuoted = (
  text: string,
  start: number,
): { readonly cell: string; readonly next: number } | null => {
  let [cell, from] = ['', start + 1];
  for (;;) {
    const close = text.indexOf('"', from);
    if (close < 0) return null;
    cell += text.slice(from, close);
    if (text.charCodeAt(close + 1) !== quoteMark) return { cell, next: close + 1 };
    cell += '"';
    from = close + 2;
  }
};

/** Reads one record. After a fault, `next` is where the reader found it. `null`: the record does not end in `text`. */
const readCells = (
  text: string,
  start: number,
  delimiter: number,
  isEnd: boolean,
): { readonly record: CsvRecord; readonly next: number } | null => {
  const cells: string[] = [];
  const skipSpaces = (from: number): number => {
    if (delimiter === space) return from;
    let position = from;
    while (text.charCodeAt(position) === space) position += 1;
    return position;
  };
  let position = start;
  for (;;) {
    const cellStart = skipSpaces(position);
    if (text.charCodeAt(cellStart) === quoteMark) {
      const quoted = readQuoted(text, cellStart);
      if (quoted === null)
        return isEnd ? { record: { fault: unclosedQuote }, next: text.length } : null;
      cells.push(quoted.cell);
      position = skipSpaces(quoted.next);
    } else {
      const from = position;
      for (; position < text.length; position += 1) {
        const char = text.charCodeAt(position);
        if (char === delimiter || char === lineFeed || char === carriageReturn) break;
      }
      cells.push(text.slice(from, position));
    }
    if (position >= text.length) return isEnd ? { record: { cells }, next: position } : null;
    const end = text.charCodeAt(position);
    if (end === delimiter) position += 1;
    else if (end === lineFeed) return { record: { cells }, next: position + 1 };
    else if (end === carriageReturn) {
      if (position + 1 === text.length && !isEnd) return null;
      const length = text.charCodeAt(position + 1) === lineFeed ? 2 : 1;
      return { record: { cells }, next: position + length };
    } else return { record: { fault: textAfterQuote }, next: position };
  }
};

/** The position after the line that `position` is in; -1: it does not end in `text`. */
const lineEnd = (text: string, position: number): number => {
  for (let end = position; end < text.length; end += 1) {
    const char = text.charCodeAt(end);
    if (char === lineFeed) return end + 1;
    if (char === carriageReturn) return end + (text.charCodeAt(end + 1) === lineFeed ? 2 : 1);
  }
  return -1;
};

/** Reads records of bounded length. After a fault it continues on the next line. */
const recordScanner = (delimiter: number): Scanner<CsvRecord> => {
  const takeRescan = rescanBudget();
  let skipsLine = false;
  return (text, position, isEnd) => {
    const nextLine = (): number => {
      const end = lineEnd(text, position);
      skipsLine = end < 0;
      return skipsLine ? text.length : end;
    };
    if (skipsLine) return { item: null, next: nextLine() };
    const isLonger = text.length - position > maxRecordLength;
    const window = isLonger ? text.slice(0, position + maxRecordLength) : text;
    const read = readCells(window, position, delimiter, isEnd && !isLonger);
    if (read === null && !isLonger) return null;
    if (read && 'cells' in read.record) return { item: read.record, next: read.next };
    const next = nextLine();
    takeRescan((read?.next ?? window.length) - next);
    return { item: read?.record ?? { fault: tooLong }, next };
  };
};

const headerName = (cell: string): string => cell.toLowerCase().replaceAll(/[\s_\ufeff]/g, '');

const isBlank = (cells: Cells): boolean => cells.every((cell) => cell.trim() === '');

/** How to read the records of a file. */
interface Layout {
  readonly delimiter: string;
  readonly hasHeader: boolean;
  /** Number of columns. */
  readonly width: number;
  /** The columns of a field, in the order of `CsvFormat.columns`. */
  readonly columns: ReadonlyMap<Field, readonly number[]>;
  /** A column that the header has twice. */
  readonly duplicate: string | null;
}

const readHeader = (cells: Cells, format: CsvFormat, delimiter: string): Layout | null => {
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
  if (!columns.get('code')?.length || !columns.get('url')?.length) return null;
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
const sampleRecords = (head: string, delimiter: string, maxRecords = 50): readonly Cells[] => {
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

/** Several spaces separate cells like one space. */
const withoutGaps = (cells: Cells, delimiter: string): Cells =>
  delimiter === ' ' ? cells.filter((cell) => cell !== '') : cells;

/** Excel reads the delimiter of a file from its first line. */
const delimiterLine = /^sep=([,;\t])[,;\t]*(?:\r\n|\r|\n|$)/i;

/**
 * The layout of a file.
 *
 * @param head the start of the file
 * @returns `null` if the file is not of the format
 */
export const detectLayout = (head: string, format: CsvFormat): Layout | null => {
  const [line = '', given] = delimiterLine.exec(head) ?? [];
  const text = head.slice(line.length);
  const delimiters = given === undefined ? [',', ';', '\t'] : [given];
  for (const delimiter of delimiters) {
    const [header] = sampleRecords(text, delimiter, 1);
    const layout = header && readHeader(header, format, delimiter);
    if (layout) return layout;
  }
  if (!format.canLackHeader) return null;
  for (const delimiter of given === undefined ? [...delimiters, ' '] : delimiters) {
    const layout = withoutHeader(sampleRecords(text, delimiter), delimiter);
    if (layout) return layout;
  }
  return null;
};

const faultOfHead = (head: string, format: CsvFormat): ImportFileFault => {
  const [cells = []] = sampleRecords(head, head.includes(',') ? ',' : ';', 1);
  if (head.trim() === '') return new ImportFileFault('The file is empty.');
  const columns = cells.slice(0, 10).map(quote).join(', ');
  return new ImportFileFault(
    `The file is no ${format.name}: no columns for the code and for the URL. Its first record is ${columns}.`,
  );
};

const isTrue = (cell: string): boolean => /^\s*(?:1|true|yes|y)\s*$/i.test(cell);

const domainOfColumns = (
  columns: readonly number[],
  cellAt: (index: number) => string,
): string | null => {
  const url = columns.map(cellAt).find((cell) => cell.includes('://'));
  return url === undefined ? null : readShortUrl(url, false).domain;
};

const toRecord = (
  row: number,
  cells: Cells,
  { columns }: Layout,
  format: CsvFormat,
  { linkZone }: ReaderOptions,
): SourceRecord => {
  const messages: string[] = [];
  const cellAt = (index: number): string => {
    const cell = cells[index] ?? '';
    return format.formulaGuard && cell.startsWith("'")
      ? cell.replace(format.formulaGuard, '')
      : cell;
  };
  /** The first column with a value. */
  const cellOf = (field: Field): string => {
    for (const index of columns.get(field) ?? []) if (cells[index]) return cellAt(index);
    return '';
  };
  const addMessage = (message: string): number => messages.push(message);
  const time = (field: Field, name: string): string | null =>
    readOptionalTime(cellOf(field), name, (text) => format.readTime(text, linkZone), addMessage);
  const domain = cellOf('domain').trim().toLowerCase().replace(/:\d+$/, '') || null;
  const short = readShortUrl(cellOf('code'), domain !== null);
  const maxClicks = readCount(cellOf('maxClicks'), 'limit of clicks', addMessage);
  const tags = cellOf('tags') === '' ? [] : format.separateTags(cellOf('tags'));
  return linkRecord(row, {
    ...emptyLink,
    code: short.code,
    // A column with the code and one with the short URL: the domain is in the second one.
    domain: domain ?? short.domain ?? domainOfColumns(columns.get('code') ?? [], cellAt),
    url: trimInvisible(cellOf('url')),
    title: cellOf('title') || null,
    note: cellOf('note') || null,
    tags: [
      ...tags.map((tag) => tag.trim()).filter((tag) => tag !== ''),
      ...(isTrue(cellOf('archived')) ? [archivedTag] : []),
    ],
    createdAt: time('createdAt', 'creation time'),
    startsAt: time('startsAt', 'start'),
    expiresAt: time('expiresAt', 'end'),
    // Other services write 0 if there is no limit.
    maxClicks: maxClicks === 0 ? null : maxClicks,
    clicks: readCount(cellOf('clicks'), 'number of clicks', addMessage) ?? 0,
    disabled: isTrue(cellOf('disabled')),
    hasPassword: isTrue(cellOf('hasPassword')),
    forwardQuery: isTrue(cellOf('forwardQuery')),
    messages,
  });
};

/** Reads the files of a format. */
export const csvReader = (format: CsvFormat): SourceReader =>
  async function* (text, options) {
    const file: { layout: Layout | null } = { layout: null };
    let readRecord: Scanner<CsvRecord> | null = null;
    const scanner: Scanner<CsvRecord> = (buffer, position, isEnd) => {
      if (readRecord) return readRecord(buffer, position, isEnd);
      const head = buffer.slice(0, scanLength);
      const layout = detectLayout(head, format);
      if (layout === null) throw faultOfHead(head, format);
      if (layout.duplicate !== null) {
        throw new ImportFileFault(`The header has ${quote(layout.duplicate)} twice.`);
      }
      file.layout = layout;
      readRecord = recordScanner(layout.delimiter.charCodeAt(0));
      return { item: null, next: delimiterLine.exec(head)?.[0].length ?? 0 };
    };
    let isHeader = true;
    for await (const { row, item } of scan(text, scanner)) {
      if (file.layout === null) continue;
      const { delimiter, hasHeader, width } = file.layout;
      if ('fault' in item) {
        yield invalidRecord(row, item.fault);
        continue;
      }
      const cells = withoutGaps(item.cells, delimiter);
      if (isBlank(cells)) continue;
      if (hasHeader && isHeader) isHeader = false;
      else if (isBlank(cells.slice(width))) {
        yield toRecord(row, cells, file.layout, format, options);
      } else yield invalidRecord(row, `The row has ${cells.length} cells instead of ${width}.`);
    }
    if (file.layout === null) throw faultOfHead('', format);
  };
