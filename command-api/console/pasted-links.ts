/** The text of "Many links": one URL per line, or columns as in import files. */
import { trimInvisible } from '../../schemas/trim-invisible.js';
import {
  cellReader,
  csvColumns,
  delimiterLine,
  detectLayout,
  otherColumns,
  sampleRecords,
  tagsOfCell,
  type Field,
  type Layout,
} from '../imports/formats/csv-columns.js';
import { isBlank, recordScanner, withoutGaps, type Cells } from '../imports/formats/csv-records.js';
import { scanLength, scanText } from '../imports/formats/scan.js';
import { withScheme } from './destination.js';
import { texts } from './all-texts.js';
import { readShortUrl } from '../imports/formats/short-url.js';

const notes = texts.make;

/** The maximum of links in the form: 20 calls of 50. */
export const maxLinks = 1_000;

/** The maximum of `POST /v2/shorten/batch`. */
export const batchSize = 50;

export const inBatches = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );

export interface PastedLink {
  readonly url: string;
  /** `null`: a generated code. */
  readonly alias: string | null;
  readonly title: string | null;
  readonly tags: readonly string[];
}

/** `row`: the line on which the record starts, from 1. */
export type PastedRow =
  | { readonly type: 'link'; readonly row: number; readonly link: PastedLink }
  | { readonly type: 'invalid'; readonly row: number; readonly message: string };

export interface PastedText {
  readonly rows: readonly PastedRow[];
  /** The delimiter of the columns; `null`: one URL per line. */
  readonly delimiter: string | null;
  readonly unusedColumns: readonly string[];
  /** Names of columns that have no header, in the order in which they are read; otherwise empty. */
  readonly assumedColumns: readonly string[];
  /** The number of columns that have no names and are therefore not read; otherwise 0. */
  readonly unnamedColumns: number;
}

const usedFields: readonly Field[] = ['code', 'shortUrl', 'url', 'title', 'tags'];

const plainLink = (url: string): PastedLink => ({ url, alias: null, title: null, tags: [] });

/** The trimmed lines of a text, without empty ones. */
const plainRows = (text: string): readonly PastedRow[] =>
  text.split(/\r\n|[\r\n\u2028\u2029]/).flatMap((line, index) => {
    const url = line.trim();
    return url === ''
      ? []
      : [{ type: 'link' as const, row: index + 1, link: plainLink(withScheme(url)) }];
  });

const linkOf = (cells: Cells, layout: Layout): PastedLink => {
  const { cellOf } = cellReader(cells, layout, csvColumns);
  return {
    url: withScheme(trimInvisible(cellOf('url'))),
    alias: readShortUrl(cellOf('code') || cellOf('shortUrl')).code || null,
    title: cellOf('title').trim() || null,
    tags: tagsOfCell(cellOf('tags'), csvColumns),
  };
};

interface Line {
  readonly row: number;
  /** A text is the reason why the line has no cells. */
  readonly cells: Cells | string;
}

const linesOf = (text: string, { delimiter }: Layout): readonly Line[] => {
  const start = delimiterLine.exec(text)?.[0].length ?? 0;
  const records = scanText(text, recordScanner(delimiter.charCodeAt(0)), start);
  return Array.from(records, ({ row, item }) => ({
    row,
    cells: 'fault' in item ? item.fault : withoutGaps(item.cells, delimiter),
  })).filter(({ cells }) => typeof cells === 'string' || !isBlank(cells));
};

const rowOf = ({ row, cells }: Line, layout: Layout): PastedRow => {
  const invalid = (message: string): PastedRow => ({ type: 'invalid', row, message });
  if (typeof cells === 'string') return invalid(cells);
  if (!isBlank(cells.slice(layout.width))) {
    return invalid(notes.cellsInsteadOf(cells.length, layout.width));
  }
  const link = linkOf(cells, layout);
  return link.url === '' ? invalid(notes.noUrl) : { type: 'link', row, link };
};

const hasTwoCells = ({ cells }: Line): boolean => typeof cells !== 'string' && cells.length === 2;

/** Without a header, most lines have two cells: a URL in a list can have a comma. */
const isTable = (lines: readonly Line[], { hasHeader, width }: Layout): boolean =>
  hasHeader ? width > 1 : lines.filter(hasTwoCells).length * 2 > lines.length;

interface UnnamedColumns {
  readonly delimiter: string;
  readonly records: readonly Cells[];
  readonly width: number;
}

const findUnnamedColumns = (text: string): UnnamedColumns | null => {
  for (const delimiter of ['\t', ';', ',']) {
    const records = sampleRecords(text, delimiter);
    const [first, second] = records;
    if (!first || first.length < 3 || !second) continue;
    const width = first.length;
    if (records.every(({ length }) => length === width)) return { delimiter, records, width };
  }
  return null;
};

/** The orders of columns that are read without a header: the URL is the first or the second one. */
const assumedOrders: readonly (readonly Field[])[] = [
  ['url', 'code', 'title', 'tags'],
  ['code', 'url', 'title', 'tags'],
];

const isUrl = (cell: string): boolean => /^https?:\/\/\S+$/i.test(withScheme(cell));

/** The names of cells of a spreadsheet, which are separated by tabs; empty if they cannot be assumed. */
const assumeColumns = ({ delimiter, records, width }: UnnamedColumns): readonly Field[] => {
  if (delimiter !== '\t') return [];
  const order = assumedOrders.find((fields) =>
    records.every((cells) => isUrl(cells[fields.indexOf('url')] ?? '')),
  );
  return order && width <= order.length ? order.slice(0, width) : [];
};

const readPlain = (text: string): PastedText => ({
  rows: plainRows(text),
  ...{ delimiter: null, unusedColumns: [], assumedColumns: [], unnamedColumns: 0 },
});

/** @param isPlain whether each line is a URL, even if the text seems to have columns */
export const readPastedLinks = (text: string, isPlain: boolean): PastedText => {
  if (isPlain) return readPlain(text);
  const head = text.slice(0, scanLength);
  const layout = detectLayout(head, csvColumns, false);
  const lines = layout ? linesOf(text, layout) : [];
  if (!layout || !isTable(lines, layout)) {
    const plain = readPlain(text);
    // The first line is the name of the only column.
    const rows = layout?.hasHeader === true ? plain.rows.slice(1) : plain.rows;
    const unnamed = findUnnamedColumns(head);
    const assumedColumns = unnamed ? assumeColumns(unnamed) : [];
    if (assumedColumns.length > 0) {
      const table = readPastedLinks(`${assumedColumns.join('\t')}\n${text}`, false);
      const rowsOfText = table.rows.map((row) => ({ ...row, row: row.row - 1 }));
      return { ...table, rows: rowsOfText, assumedColumns };
    }
    return { ...plain, rows, unnamedColumns: unnamed?.width ?? 0 };
  }
  const { delimiter, hasHeader } = layout;
  return {
    rows: lines.slice(hasHeader ? 1 : 0).map((line) => rowOf(line, layout)),
    delimiter,
    unusedColumns: otherColumns(layout, usedFields),
    assumedColumns: [],
    unnamedColumns: 0,
  };
};
