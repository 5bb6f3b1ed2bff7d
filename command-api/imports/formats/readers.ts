import type { ImportFormat } from '../../../schemas/http/imports.js';
import { bitlyCsv, csv, csvReader, dubCsv, shlinkCsv } from './csv.js';
import { readBitlyJson, readKuttJson, readLinklog } from './json.js';
import type { SourceReader } from './source-record.js';
import { readYourls } from './yourls.js';

/** The readers of import files by format. */
export const readers: Readonly<Record<ImportFormat, SourceReader>> = {
  csv: csvReader(csv),
  linklog: readLinklog,
  'shlink-csv': csvReader(shlinkCsv),
  'yourls-sql': readYourls,
  'kutt-json': readKuttJson,
  'bitly-json': readBitlyJson,
  'bitly-csv': csvReader(bitlyCsv),
  'dub-csv': csvReader(dubCsv),
};
