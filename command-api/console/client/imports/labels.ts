import type { ConflictPolicy, ImportFormat, ImportSource, RowOutcome } from '../app/types.js';

const fileFormats: Readonly<Record<ImportFormat, string>> = {
  csv: 'CSV',
  linklog: 'Linklog (JSON Lines)',
  'shlink-csv': 'Shlink (CSV)',
  'yourls-sql': 'YOURLS (SQL dump)',
  'kutt-json': 'Kutt (JSON)',
  'bitly-json': 'Bitly (JSON)',
  'bitly-csv': 'Bitly (CSV)',
  'dub-csv': 'Dub (CSV)',
};

export const formatNames: Readonly<Record<ImportSource, string>> = {
  ...fileFormats,
  'shlink-api': 'Shlink (API)',
};

export const formatOptions = [['auto', 'Recognise it'], ...Object.entries(fileFormats)] as const;

const conflictPolicies: Readonly<Record<ConflictPolicy, string>> = {
  skip: 'Leave the row out',
  suffix: 'Add a number to the code: -2, -3 and so on',
  fail: 'Import nothing',
};

export const conflictOptions = Object.entries(conflictPolicies);

export const outcomeNames: Readonly<Record<RowOutcome, string>> = {
  created: 'created',
  disabled: 'created, disabled',
  exists: 'exists already',
  conflict: 'code taken',
  invalid: 'invalid',
  reserved: 'reserved code',
  unsafe: 'unsafe',
  quota: 'over the limit',
};
