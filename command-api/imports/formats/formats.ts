/** The formats of import files: their readers, and how they are detected. */
import { shlinkApi, type ImportFormat, type ImportSource } from '../../../schemas/http/imports.js';
import { bitlyCsv, csv, csvReader, dubCsv, shlinkCsv, type CsvFormat } from './csv.js';
import { detectLayout } from './csv-columns.js';
import { firstObject } from './json-objects.js';
import { readBitlyJson, readKuttJson, readLinklog } from './json.js';
import type { SourceReader } from './records.js';
import { scanLength } from './scan.js';
import { readShlinkApi } from './shlink-api.js';
import { readYourls } from './yourls.js';

export const readers: Readonly<Record<ImportSource, SourceReader>> = {
  csv: csvReader(csv),
  linklog: readLinklog,
  'shlink-csv': csvReader(shlinkCsv),
  'yourls-sql': readYourls,
  'kutt-json': readKuttJson,
  'bitly-json': readBitlyJson,
  'bitly-csv': csvReader(bitlyCsv),
  'dub-csv': csvReader(dubCsv),
  [shlinkApi]: readShlinkApi,
};

const services: readonly (readonly [ImportFormat, CsvFormat])[] = [
  ['shlink-csv', shlinkCsv],
  ['dub-csv', dubCsv],
  ['bitly-csv', bitlyCsv],
];

/** A file of a service has the whole header of that service: others with some of its columns are CSV of any origin. */
const detectCsv = (head: string): ImportFormat | null => {
  const found = services.find(([, format]) => {
    const layout = detectLayout(head, format);
    return layout !== null && format.header?.test(layout.names.join()) === true;
  });
  return found?.[0] ?? (detectLayout(head, csv) === null ? null : 'csv');
};

/** The tables of YOURLS, whose prefix is a setting. */
const yourlsTable =
  /^[ \t]*(?:create table(?: if not exists)?|insert(?: ignore)? into) [`"]?(?:\w*_)?(?:url|log)[`"]?[ (]/im;

const detectJson = (head: string): ImportFormat | null => {
  const object = firstObject(head);
  if (object === null) return null;
  if ('address' in object && 'target' in object) return 'kutt-json';
  if ('long_url' in object || 'custom_bitlinks' in object) return 'bitly-json';
  return 'code' in object && 'url' in object ? 'linklog' : null;
};

/** @param head the first 64 KB of the text, or the whole text @returns `null` if it is none of the formats */
export const detectFormat = (head: string): ImportFormat | null => {
  const text = head.slice(0, scanLength);
  if (/^[\s\ufeff]*[[{]/.test(text)) return detectJson(text);
  return detectCsv(text) ?? (yourlsTable.test(text) ? 'yourls-sql' : null);
};
