import { shlinkApi, type ImportSource } from '../../../schemas/http/imports.js';
import { bitlyCsv, csv, csvReader, dubCsv, shlinkCsv } from './csv.js';
import { readBitlyJson, readKuttJson, readLinklog } from './json.js';
import { readShlinkApi } from './shlink-api.js';
import type { SourceReader } from './source-record.js';
import { readYourls } from './yourls.js';

/** The readers of import files by format. */
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
