/** Detects the format of an import file. */
import type { ImportFormat } from '../../../schemas/http/imports.js';
import { bitlyCsv, csv, dubCsv, shlinkCsv, type CsvFormat } from './csv.js';
import { detectLayout } from './csv-columns.js';
import { firstObject } from './json.js';
import { scanLength } from './scan.js';

/** `csv` is last, because it has the columns of the other formats. */
const csvFormats: readonly (readonly [ImportFormat, CsvFormat])[] = [
  ['shlink-csv', shlinkCsv],
  ['dub-csv', dubCsv],
  ['bitly-csv', bitlyCsv],
  ['csv', csv],
];

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

/**
 * @param head the first 64 KB of the text, or the whole text
 * @returns `null` if it is none of the formats
 */
export const detectFormat = (head: string): ImportFormat | null => {
  const text = head.slice(0, scanLength);
  if (/^[\s\ufeff]*[[{]/.test(text)) return detectJson(text);
  const found = csvFormats.find(([, format]) => detectLayout(text, format) !== null);
  if (found) return found[0];
  return yourlsTable.test(text) ? 'yourls-sql' : null;
};
