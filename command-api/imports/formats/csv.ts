/** Readers of CSV files. */
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  cellReader,
  csvColumns,
  delimiterLine,
  detectLayout,
  sampleRecords,
  separateTags,
  tagsOfCell,
  type CsvColumns,
  type Field,
  type Layout,
} from './csv-columns.js';
import { isBlank, recordScanner, withoutGaps, type Cells, type CsvRecord } from './csv-records.js';
import {
  archivedTag,
  emptyLink,
  invalidRecord,
  linkRecord,
  quote,
  readCount,
  readOptionalTime,
} from './records.js';
import { scan, scanLength, type Scanner } from './scan.js';
import { readShortUrl } from './short-url.js';
import {
  ImportFileFault,
  type ReaderOptions,
  type SourceReader,
  type SourceRecord,
} from './source-record.js';
import { readTime, readUsTime } from './times.js';

/** A CSV format. */
export interface CsvFormat extends CsvColumns {
  readonly name: string;
  readonly readTime: (text: string, zone: string) => string | null;
}

export const csv: CsvFormat = { ...csvColumns, name: 'CSV', readTime };

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
  layout: Layout,
  format: CsvFormat,
  { linkZone }: ReaderOptions,
): SourceRecord => {
  const messages: string[] = [];
  const { cellAt, cellOf } = cellReader(cells, layout, format);
  const addMessage = (message: string): number => messages.push(message);
  const time = (field: Field, name: string): string | null =>
    readOptionalTime(cellOf(field), name, (text) => format.readTime(text, linkZone), addMessage);
  const domain = cellOf('domain').trim().toLowerCase().replace(/:\d+$/, '') || null;
  const short = readShortUrl(cellOf('code'), domain !== null);
  const maxClicks = readCount(cellOf('maxClicks'), 'limit of clicks', addMessage);
  return linkRecord(row, {
    ...emptyLink,
    code: short.code,
    // A column with the code and one with the short URL: the domain is in the second one.
    domain: domain ?? short.domain ?? domainOfColumns(layout.columns.get('code') ?? [], cellAt),
    url: trimInvisible(cellOf('url')),
    title: cellOf('title') || null,
    note: cellOf('note') || null,
    tags: [
      ...tagsOfCell(cellOf('tags'), format),
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
