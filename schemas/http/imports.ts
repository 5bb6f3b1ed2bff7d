import { z } from 'zod';
import { named } from '../components.js';
import { encodings } from '../encodings.js';
import { timestamp } from '../events/envelope.js';
import { readZone } from '../statistics/period.js';
import { accountName } from './keys.js';
import { domainName } from './link-address.js';
import { readAs } from './query.js';
import { call, done, found, json, type OperatorRows, returning, routeGroup } from './route.js';

export const importFormats = [
  'csv',
  'linklog',
  'shlink-csv',
  'yourls-sql',
  'kutt-json',
  'bitly-json',
  'bitly-csv',
  'dub-csv',
] as const;
export type ImportFormat = (typeof importFormats)[number];

/** The format in which the command line sends what it reads from Shlink's API. */
export const shlinkApi = 'shlink-api';

const operatorsImportFormats = [...importFormats, shlinkApi] as const;
export type ImportSource = (typeof operatorsImportFormats)[number];

export const conflictPolicies = ['skip', 'suffix', 'fail'] as const;
export type ConflictPolicy = (typeof conflictPolicies)[number];

const formatOf = <const Formats extends readonly [string, ...string[]]>(formats: Formats) =>
  z
    .enum(['auto', ...formats], { error: `format must be auto, ${formats.join(', ')}` })
    .default('auto')
    .describe('The format of the file. `auto`: it is detected.');

export const switchValues = ['0', '1', 'true', 'false'] as const;

const switchNamed = (name: string, description: string) =>
  z
    .enum(switchValues, { error: `${name} must be 1 or 0` })
    .default('0')
    .transform((value) => value === '1' || value === 'true')
    .meta({ type: 'string', enum: switchValues, default: '0', description });

const zoneNamed = (name: string, description: string) =>
  readAs(readZone, `${name} must be an IANA time zone, such as Europe/Berlin`)
    .default('UTC')
    .meta({ type: 'string', description, examples: ['Europe/Berlin'] });

const options = {
  domain: domainName
    .optional()
    .describe(
      'The active domain of all links. Default: the domain of each row if it is active for the account, otherwise ' +
        'the default domain.',
    ),
  onConflict: z
    .enum(conflictPolicies, { error: `onConflict must be ${conflictPolicies.join(', ')}` })
    .default('skip')
    .describe(
      'For a code that another link has. `skip`: the row is a conflict. `suffix`: the code gets `-2`, `-3` and so on. ' +
        '`fail`: no link is created.',
    ),
  encoding: z
    .enum(encodings, { error: `encoding must be one of ${encodings.join(', ')}` })
    .optional()
    .describe(
      'The encoding of the file. Default: that of its byte order mark, otherwise UTF-8; windows-1252 if its first MiB ' +
        'has characters outside ASCII, but none of UTF-8.',
    ),
  dryRun: switchNamed('dryRun', '`1`: the outcome of each row, without creating links.'),
  linkZone: zoneNamed('linkZone', 'The time zone of times of links without an offset.'),
  visits: switchNamed('visits', '`1`: import visits too, if the format has them.'),
  visitZone: zoneNamed('visitZone', 'The time zone of times of visits without an offset.'),
};

export const importQuery = z.object({ format: formatOf(importFormats), ...options });

export const operatorsImportQuery = z.object({
  format: formatOf(operatorsImportFormats),
  ...options,
  account: accountName.default('default'),
});
export type ImportQuery = Omit<z.output<typeof operatorsImportQuery>, 'account'>;

const importStatuses = ['running', 'done', 'stopped', 'failed'] as const;
export type ImportStatus = (typeof importStatuses)[number];

const importId = z.uuid().describe('For the paths of `/v2/imports`.');

const importResponse = named('LinkImport', {
  id: importId,
  format: z.enum(operatorsImportFormats).describe('The format of the file, sent or detected.'),
  status: z.enum(importStatuses).describe('`stopped`: by a request; `failed`: see `error`.'),
  dryRun: z.boolean().describe('Whether the import only reports outcomes and creates nothing.'),
  rows: z.int().min(0).describe('The rows with an outcome: `created`, `existing` and `failed`.'),
  created: z.int().min(0).describe('Rows whose link was created.'),
  existing: z.int().min(0).describe('Rows whose link exists already.'),
  failed: z.int().min(0).describe('Rows without a link.'),
  visits: z.int().min(0).describe('Imported visits.'),
  ignoredColumns: z
    .array(z.string())
    .describe('Columns of a CSV file that are not imported, by their names in its header.'),
  startedAt: timestamp.describe('When the file was accepted, UTC.'),
  endedAt: timestamp.nullable().describe('`null` while it is running.'),
  error: z.string().nullable().describe('Why the import failed or was stopped.'),
});
export type ImportResponse = z.infer<typeof importResponse>;

const importListResponse = named('ImportPage', {
  imports: z.array(importResponse).describe('The newest first, at most 100.'),
});
export type ImportListResponse = z.infer<typeof importListResponse>;

export const rowOutcomes = [
  'created',
  'disabled',
  'exists',
  'conflict',
  'invalid',
  'reserved',
  'unsafe',
  'quota',
] as const;
export type RowOutcome = (typeof rowOutcomes)[number];

/** A line of GET /v2/imports/:id/rows */
export const importedRow = named('ImportedRow', {
  row: z.int().min(1).describe('The line on which the record starts.'),
  code: z
    .string()
    .nullable()
    .describe('The code of the link. Of a row that failed: the code in the file.'),
  url: z.string().nullable().describe('The destination in the file; `null`: none.'),
  outcome: z.enum(rowOutcomes).describe('`disabled`: created, but disabled.'),
  message: z
    .string()
    .nullable()
    .describe('What was refused, changed or left out; `null`: nothing.'),
});
export type ImportedRow = z.infer<typeof importedRow>;

export const importedRowsQuery = z.object({
  outcome: z
    .enum(rowOutcomes, { error: `outcome must be ${rowOutcomes.join(', ')}` })
    .optional()
    .describe('Only rows with this outcome.'),
});
export type ImportedRowsQuery = z.output<typeof importedRowsQuery>;

const running = {
  id: '019a3c1e-8000-7abc-8def-012345678901',
  format: 'csv',
  status: 'running',
  dryRun: false,
  rows: 1_000,
  created: 990,
  existing: 8,
  failed: 2,
  visits: 0,
  ignoredColumns: ['Owner'],
  startedAt: '2026-05-01T12:00:00.000Z',
  endedAt: null,
  error: null,
};

export const importRoutes = routeGroup(
  { tag: 'Imports', scope: 'links:import', parameters: { id: importId } },
  {
    startImport: call('POST /imports', 'Import links from a file', {
      description:
        'The body is the file, with any content type, also as gzip. The import continues in the background after the ' +
        'response. Each created link spends one link of the month; a row with an invalid value never ends the import. ' +
        'The same file again creates nothing.',
      query: importQuery,
      file: 'code,url,title\nsale,https://example.com/sale,Sale\n',
      returns: { 202: json('The import is running.', importResponse, { running }) },
    }),
    listImports: call('GET /imports', 'List imports', {
      description: 'The imports of the last 30 days, the newest first, at most 100.',
      returns: {
        200: json('The imports of the account.', importListResponse, {
          imports: { imports: [running] },
        }),
      },
    }),
    getImport: call('GET /imports/:id', 'Get an import and its progress', {
      description: 'Of the last 30 days. `created`, `existing` and `failed` add up to `rows`.',
      returns: { 200: json('The import.', importResponse, { running }) },
    }),
    stopImport: call('DELETE /imports/:id', 'Stop an import', {
      description: 'Links that were created stay. An import that has ended does not change.',
      returns: { 204: done('The import has ended.') },
    }),
    getImportedRows: call('GET /imports/:id/rows', 'Get the outcome of each row', {
      description:
        'JSON Lines, one for each decided row. `row` is the line of the file on which the record starts. `Accept: text/plain` gets the same lines as text.',
      query: importedRowsQuery,
      returns: {
        200: {
          description: 'The rows that are decided, in the order of the file.',
          schema: null,
          files: { 'application/x-ndjson': { item: importedRow }, 'text/plain': {} },
          headers: ['Vary'],
        },
      },
    }),
  },
);

/** Operators' calls on imports. */
export const operatorsImportRoutes = {
  startImport: call('POST /imports', 'Import links from a file', {
    query: operatorsImportQuery,
    file: 'code,url,title\nsale,https://example.com/sale,Sale\n',
    returns: returning(importResponse, 202),
  }),
  listImports: call('GET /imports', 'List the imports of one account or of all accounts', {
    query: z.object({ account: accountName.optional() }),
    returns: found(importListResponse),
  }),
  getImport: call('GET /imports/:id', 'Get an import and its progress', {
    returns: found(importResponse),
  }),
  stopImport: call('DELETE /imports/:id', 'Stop an import', {
    returns: { 204: done('The import has ended.') },
  }),
  getImportedRows: call('GET /imports/:id/rows', 'Get the outcome of each row', {
    query: importedRowsQuery,
    returns: {
      200: {
        schema: null,
        files: { 'application/x-ndjson': { item: importedRow }, 'text/plain': {} },
      },
    },
  }),
} satisfies OperatorRows;
