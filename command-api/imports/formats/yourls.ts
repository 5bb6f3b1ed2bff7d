/**
 * Reads SQL dumps of YOURLS (`yourls-sql`): a link for each row of its table of URLs, and a visit for each row of its
 * log. The schema is in `includes/functions-install.php` of YOURLS. The addresses of visitors and authors are dropped.
 */
import { decodeUtf8 } from './decode.js';
import {
  ImportFileFault,
  invalidRecord,
  LinkValues,
  quote,
  type SourceReader,
  type SourceRecord,
} from './records.js';
import { readTime } from './times.js';
import { readSqlRecords, type SqlRecord } from './sql-rows.js';
import type { SqlValue } from './sql-tokens.js';
import { countKind } from './values.js';

type TableKind = 'url' | 'log';

/** A table has these columns, or it is not of YOURLS: other programs have tables with such names. */
const requiredColumns: Readonly<Record<TableKind, readonly string[]>> = {
  url: ['keyword', 'url', 'timestamp'],
  log: ['click_time', 'shorturl'],
};

/** The columns of a dump that has only rows (`mysqldump --no-create-info`). */
const defaultColumns: Readonly<Record<TableKind, readonly string[]>> = {
  url: ['keyword', 'url', 'title', 'timestamp', 'ip', 'clicks'],
  log: [
    ...['click_id', 'click_time', 'shorturl', 'referrer', 'user_agent', 'ip_address'],
    'country_code',
  ],
};

/** The prefix of the tables is a setting of YOURLS. */
const tablePattern = /(?:^|_)(url|log)$/i;

const tableKind = (table: string): TableKind | null =>
  (tablePattern.exec(table)?.[1]?.toLowerCase() as TableKind | undefined) ?? null;

/** A value as it was in the database. Text that YOURLS stored with the wrong character set stays as it is. */
const textOf = (value: SqlValue | null | undefined): string | null => {
  if (!value) return null;
  return value.type === 'hex' ? decodeUtf8(Buffer.from(value.text, 'hex')) : value.text;
};

const nonEmpty = (text: string | null): string | null => (text === '' ? null : text);

/** The positions of the columns. */
type Layout = ReadonlyMap<string, number>;

/** `null`: not a table of YOURLS. */
const layoutOf = (kind: TableKind, columns: readonly string[]): Layout | null => {
  const layout = new Map(columns.map((column, index) => [column.toLowerCase(), index]));
  return requiredColumns[kind].every((column) => layout.has(column)) ? layout : null;
};

type ReadColumn = (column: string) => string | null;

const columnsOf =
  (layout: Layout, { values }: Extract<SqlRecord, { values: unknown }>): ReadColumn =>
  (column) =>
    textOf(values[layout.get(column) ?? -1]);

const readLink = (row: number, read: ReadColumn, zone: string): SourceRecord => {
  const [code, url] = [read('keyword'), read('url')];
  if (code === null || url === null) {
    const message = `The ${code === null ? 'keyword' : 'url'} is NULL.`;
    return invalidRecord(row, message, { code, url });
  }
  const values = new LinkValues(row, (text) => readTime(text, zone));
  return values.link({
    ...{ code, url, title: nonEmpty(read('title')) },
    createdAt: values.time('timestamp', read('timestamp')),
    clicks: values.read('clicks', read('clicks'), countKind) ?? 0,
  });
};

const readVisit = (row: number, read: ReadColumn, zone: string): SourceRecord => {
  const [code, clickTime] = [read('shorturl'), read('click_time')];
  if (code === null) return invalidRecord(row, 'The shorturl of the click is NULL.');
  const time = clickTime === null ? null : readTime(clickTime, zone);
  if (time === null) {
    const message = `The time of the click, ${clickTime === null ? 'NULL' : quote(clickTime)}, is not a time.`;
    return invalidRecord(row, message, { code });
  }
  const country = read('country_code')?.toUpperCase() ?? '';
  const referrer = nonEmpty(read('referrer'));
  return {
    type: 'visit',
    row,
    visit: {
      code,
      domain: null,
      time,
      country: /^[A-Z]{2}$/.test(country) ? country : null,
      referrer: referrer === 'direct' ? null : referrer,
      userAgent: nonEmpty(read('user_agent')),
    },
  };
};

export const readYourls: SourceReader = async function* ({ text }, { linkZone, visitZone }) {
  // The layout of a statement's columns is computed once for all its rows.
  const layouts = new WeakMap<readonly string[], Layout | null>();
  let isFound = false;
  for await (const record of readSqlRecords(text, (table) => tableKind(table) !== null)) {
    const kind = tableKind(record.table);
    if (!kind) continue;
    const columns = record.columns ?? defaultColumns[kind];
    if (!layouts.has(columns)) layouts.set(columns, layoutOf(kind, columns));
    const layout = layouts.get(columns);
    if (!layout) continue;
    const width = columns.length;
    // Without names of columns, only their number identifies a table of YOURLS.
    if (record.type === 'row' && record.columns === null && record.values.length !== width)
      continue;
    isFound = true;
    if (record.type === 'table') continue;
    const { line } = record;
    const read = columnsOf(layout, record);
    const isLink = kind === 'url';
    if (record.type === 'invalid' || record.values.length !== width) {
      const message =
        record.type === 'invalid'
          ? record.message
          : `The row has ${record.values.length} values for ${width} columns.`;
      yield invalidRecord(line, message, {
        code: read(isLink ? 'keyword' : 'shorturl'),
        url: isLink ? read('url') : null,
      });
    } else yield isLink ? readLink(line, read, linkZone) : readVisit(line, read, visitZone);
  }
  if (!isFound)
    throw new ImportFileFault(
      'The file has no table of YOURLS: a table of links has the columns keyword, url and timestamp.',
    );
};
