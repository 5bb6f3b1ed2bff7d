/** Readers of CSV files. */
import { isFlag, optionNames } from '../../../schemas/link-options.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  cellReader,
  csvColumns,
  delimiterLine,
  detectLayout,
  maxColumns,
  otherColumns,
  sampleRecords,
  tagsOfCell,
  type CsvColumns,
  type Field,
  type Layout,
} from './csv-columns.js';
import { isBlank, recordScanner, withoutGaps, type Cells } from './csv-records.js';
import {
  archivedTag,
  ImportFileFault,
  invalidRecord,
  quote,
  readOptions,
  LinkValues,
  storageFault,
  type Kind,
  type ReaderOptions,
  type SourceReader,
  type SourceRecord,
} from './records.js';
import { scan, scanLength } from './scan.js';
import { domainOf, readShortUrl } from './short-url.js';
import { readTime, readUsTime } from './times.js';
import { countKind, flagKind, jsonKind, limitKind } from './values.js';

/** A CSV format. */
export interface CsvFormat extends CsvColumns {
  readonly name: string;
  /** The whole header of files that only this format has; `null`: the format is not detected by it. */
  readonly header: RegExp | null;
  readonly readTime: (text: string, zone: string) => string | null;
}

/** The columns of options are named like them. */
const columns = {
  ...csvColumns.columns,
  ...Object.fromEntries(optionNames.map((name) => [name, [name.toLowerCase()]])),
};

export const csv: CsvFormat = { ...csvColumns, columns, name: 'CSV', header: null, readTime };

/** All formats read all columns of `csv`, so that no end or limit is lost if a format is named or detected wrongly. */
const service = { ...csv, canLackHeader: false };

/** `short_urls.csv` of Shlink's web client. Old versions have no columns `shortCode` and `domain`. */
export const shlinkCsv: CsvFormat = {
  ...service,
  name: 'CSV of Shlink',
  header: /^createdAt,(?:domain,shortCode,)?shortUrl,longUrl,title,tags,visits$/,
  formulaGuard: null,
  separateTags: (cell) => cell.split('|'),
};

/** Exports of Bitly's pages have had several headers. */
export const bitlyCsv: CsvFormat = {
  ...service,
  name: 'CSV of Bitly',
  header:
    /^(?:.*,)?(?:(?:custom )?bitlink|custom link|(?:total )?engagements|total clicks)(?:,|$)/i,
  columns: {
    ...columns,
    shortUrl: [
      ...['customlink', 'custombitlink', 'link', 'bitlink', 'shortlink', 'shorturl', 'source'],
    ],
    createdAt: [...(columns.createdAt ?? []), 'datecreated', 'creationdate'],
    clicks: ['engagements', 'totalengagements', 'totalclicks', ...(columns.clicks ?? [])],
  },
  readTime: readUsTime,
};

export const dubCsv: CsvFormat = {
  ...service,
  name: 'CSV of Dub',
  header:
    /^Short link,Destination URL,Clicks,Created at(?:,(?:Leads|Conversions|Revenue|Link ID|Updated at|Tags|Archived))*$/,
  formulaGuard: /^'(?=[=+\-@\t\r\n])/,
  separateTags: (cell) => cell.split(','),
};

/** A link is never wider than its original: without a value of these columns, it would be. */
const restrictions: ReadonlySet<Field> = new Set([
  ...(['startsAt', 'expiresAt', 'maxClicks', 'disabled', 'archived', 'hasPassword'] as const),
]);

const faultOfHead = (head: string, format: CsvFormat): ImportFileFault => {
  const [cells = []] = sampleRecords(head, head.includes(',') ? ',' : ';', 1);
  if (head.trim() === '') return new ImportFileFault('The file is empty.');
  if (cells.length > maxColumns) {
    return new ImportFileFault(`The header has more than ${maxColumns} columns.`);
  }
  const shown = cells.slice(0, 10).map(quote).join(', ');
  return new ImportFileFault(
    `The file is no ${format.name}: no columns for the code and for the URL. Its first record is ${shown}.`,
  );
};

/** @throws ImportFileFault */
const layoutOf = (head: string, format: CsvFormat): Layout => {
  const layout = detectLayout(head, format);
  if (layout === null) throw faultOfHead(head, format);
  if (layout.duplicate === null) return layout;
  throw new ImportFileFault(`The header has ${quote(layout.duplicate)} twice.`);
};

const toRecord = (
  row: number,
  cells: Cells,
  layout: Layout,
  format: CsvFormat,
  { linkZone }: ReaderOptions,
): SourceRecord => {
  const { cellOf, nameOf } = cellReader(cells, layout, format);
  const values = new LinkValues(row, (text) => format.readTime(text, linkZone));
  const read = <T>(field: Field, kind: Kind<T>): T | null =>
    values.read(nameOf(field), cellOf(field), kind, restrictions.has(field));
  const readTimeOf = (field: Field): string | null =>
    values.time(nameOf(field), cellOf(field), restrictions.has(field));
  const domain = domainOf(
    cellOf('domain')
      .trim()
      .replaceAll(/^https?:\/\/|(?<!\/)\/+$/gi, ''),
  );
  const url = readShortUrl(cellOf('shortUrl'));
  const short = cellOf('code') === '' ? url : readShortUrl(cellOf('code'), domain);
  const isArchived = read('archived', flagKind) === true;
  const link = {
    code: short.code,
    domain: domain ?? short.domain ?? url.domain,
    url: trimInvisible(cellOf('url')),
    title: cellOf('title') || null,
    note: cellOf('note') || null,
    tags: [...tagsOfCell(cellOf('tags'), format), ...(isArchived ? [archivedTag] : [])],
    codes: tagsOfCell(cellOf('codes'), format),
    createdAt: readTimeOf('createdAt'),
    startsAt: readTimeOf('startsAt'),
    expiresAt: readTimeOf('expiresAt'),
    maxClicks: read('maxClicks', limitKind),
    clicks: read('clicks', countKind) ?? 0,
    disabled: read('disabled', flagKind) ?? false,
    hasPassword: read('hasPassword', flagKind) ?? false,
  };
  const options = readOptions((name) => read(name, isFlag(name) ? flagKind : jsonKind));
  const damaged = cells.find((cell) => !cell.isWellFormed());
  if (damaged !== undefined) values.fault = `The row has ${storageFault(damaged)}.`;
  return values.link(link, options);
};

export const csvReader = (format: CsvFormat): SourceReader =>
  async function* ({ head, text }, options) {
    const layout = layoutOf(head.slice(0, scanLength), format);
    options.onIgnoredColumns?.(otherColumns(layout, [...layout.columns.keys()]));
    const { delimiter, width } = layout;
    const start = delimiterLine.exec(head)?.[0].length;
    let isHeader = layout.hasHeader;
    for await (const { row, item } of scan(text, recordScanner(delimiter.charCodeAt(0)), start)) {
      if ('fault' in item) {
        yield invalidRecord(row, item.fault);
        continue;
      }
      const cells = withoutGaps(item.cells, delimiter);
      if (isBlank(cells)) continue;
      if (isHeader) isHeader = false;
      else if (isBlank(cells.slice(width))) yield toRecord(row, cells, layout, format, options);
      else yield invalidRecord(row, `The row has ${cells.length} cells instead of ${width}.`);
    }
  };
