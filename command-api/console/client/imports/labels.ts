import type {
  ConflictPolicy,
  ImportFormat,
  ImportSource,
  RowOutcome,
} from '../../../../schemas/http/imports.js';
import { encodings } from '../../../../schemas/encodings.js';
import { texts } from '../../all-texts.js';

const text = texts.imports;

const fileFormats: Readonly<Record<ImportFormat, string>> = {
  csv: 'CSV',
  linklog: text.formats.linklog,
  'shlink-csv': 'Shlink (CSV)',
  'yourls-sql': text.formats.yourls,
  'kutt-json': 'Kutt (JSON)',
  'bitly-json': 'Bitly (JSON)',
  'bitly-csv': 'Bitly (CSV)',
  'dub-csv': 'Dub (CSV)',
};

export const formatNames: Readonly<Record<ImportSource, string>> = {
  ...fileFormats,
  'shlink-api': 'Shlink (API)',
};

export const formatOptions = [['auto', text.formats.auto], ...Object.entries(fileFormats)] as const;

export const encodingOptions = [
  ['', text.formats.auto],
  ...encodings.map((name) => [name, name] as const),
] as const;

const conflictPolicies: Readonly<Record<ConflictPolicy, string>> = text.policies;

export const conflictOptions = Object.entries(conflictPolicies);

export const outcomeNames: Readonly<Record<RowOutcome, string>> = text.outcomes;
