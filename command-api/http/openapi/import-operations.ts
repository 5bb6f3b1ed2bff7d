import { importedRowsQuery, importQuery } from '../../../schemas/http/imports.js';
import { needs } from './operation-parts.js';
import { bytes, done, errors, lines, success } from './responses.js';
import { parametersOf } from './schemas.js';

const importId = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

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

const manages = { ...needs('links:import'), tags: ['Imports'] };

/** The operations of imports. */
export const importPaths = {
  '/v2/imports': {
    post: {
      operationId: 'startImport',
      ...manages,
      summary: 'Import links from a file',
      description:
        'The body is the file, with any content type, also as gzip. The import continues in the background after the ' +
        'response. Each created link spends one link of the month; a row with an invalid value never ends the import. ' +
        'The same file again creates nothing.',
      parameters: parametersOf(importQuery),
      requestBody: {
        required: true,
        content: {
          'application/octet-stream': {
            schema: bytes,
            example: 'code,url,title\nsale,https://example.com/sale,Sale\n',
          },
        },
      },
      responses: {
        202: success('The import is running.', 'LinkImport', { running }),
        ...errors(400, 403, 408, 413, 415),
      },
    },
    get: {
      operationId: 'listImports',
      ...manages,
      summary: 'List imports',
      description: 'The imports of the last 30 days, the newest first, at most 100.',
      responses: {
        200: success('The imports of the account.', 'ImportPage', {
          imports: { imports: [running] },
        }),
        ...errors(403),
      },
    },
  },
  '/v2/imports/{id}': {
    parameters: [importId],
    get: {
      operationId: 'getImport',
      ...manages,
      summary: 'Get an import and its progress',
      description: 'Of the last 30 days. `created`, `existing` and `failed` add up to `rows`.',
      responses: { 200: success('The import.', 'LinkImport', { running }), ...errors(403, 404) },
    },
    delete: {
      operationId: 'stopImport',
      ...manages,
      summary: 'Stop an import',
      description: 'Links that were created stay. An import that has ended does not change.',
      responses: { 204: done('The import has ended.'), ...errors(403, 404) },
    },
  },
  '/v2/imports/{id}/rows': {
    parameters: [importId],
    get: {
      operationId: 'getImportedRows',
      ...manages,
      summary: 'Get the outcome of each row',
      description:
        'JSON Lines, one for each decided row. `row` is the line of the file on which the record starts. `Accept: text/plain` gets the same lines as text.',
      parameters: parametersOf(importedRowsQuery),
      responses: {
        200: lines('The rows that are decided, in the order of the file.', 'ImportedRow'),
        ...errors(400, 403, 404),
      },
    },
  },
};
