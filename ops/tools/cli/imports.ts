/** The commands of imports, and how they print imports and rows. */
import {
  importedRow,
  rowOutcomes,
  type ImportedRow,
  type ImportResponse,
  type RowOutcome,
} from '../../../schemas/http/imports.js';
import { jsonText } from '../../platform/parse.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { notEmpty, oneOf } from './arguments.js';
import type { AdminClient } from './client.js';
import type { AddCommands } from './command.js';
import { untilReaderExits } from './long-work.js';
import { count, counted, formatFields, plain, table, writeOut, type Output } from './output.js';

/** Failed rows that are printed after an import. */
const maxFailedRows = 20;

const failedOutcomes = ['conflict', 'invalid', 'reserved', 'unsafe', 'quota'] as const;

async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

async function* readRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<ImportedRow> {
  const schema = jsonText.pipe(importedRow);
  for await (const line of readLines(bytes)) yield schema.parse(line);
}

const rowLine = ({ row, code, outcome, message }: ImportedRow): string =>
  plain(`${row} ${code ?? '-'}: ${outcome}${message === null ? '' : `, ${message}`}`);

const fieldsOf = (found: ImportResponse): [string, string | null][] => [
  ['id', found.id],
  ['format', found.format],
  ['status', found.status],
  ['dry run', found.dryRun ? 'yes, no link was created' : null],
  ['rows', count(found.rows)],
  ['created', count(found.created)],
  ['existing', count(found.existing)],
  ['failed', count(found.failed)],
  ['visits', count(found.visits)],
  ['ignored columns', found.ignoredColumns.map(plain).join(', ') || null],
  ['started', found.startedAt],
  ['ended', found.endedAt],
  ['error', found.error === null ? null : plain(found.error)],
];

/** The progress of a running import. */
export const progressOf = ({ rows, created, existing, failed, visits }: ImportResponse): string =>
  `${counted(rows, 'row')}: ${count(created)} created, ${count(existing)} existing, ` +
  `${count(failed)} failed; ${counted(visits, 'visit')}`;

/** The first failed rows, by number. */
export const readFailedRows = async (
  client: AdminClient,
  { id, failed }: ImportResponse,
): Promise<readonly string[]> => {
  const rows: ImportedRow[] = [];
  for (const outcome of failed === 0 ? [] : failedOutcomes) {
    const request = { parameters: { id }, query: { outcome } };
    const { signal } = new AbortController();
    const bytes = await client.openBytes('getImportedRows', request, signal);
    let found = 0;
    for await (const row of readRows(bytes)) {
      rows.push(row);
      found += 1;
      if (found === maxFailedRows) break;
    }
  }
  const first = rows.sort((a, b) => a.row - b.row).slice(0, maxFailedRows);
  const rest = failed - first.length;
  return [
    ...first.map(rowLine),
    ...(rest > 0 ? [`${count(rest)} more: see "${linklogCommand()} imports rows ${id}"`] : []),
  ];
};

/** Failed rows are no failure of the import. */
export const endedOf = (ended: ImportResponse, failedRows: readonly string[]): Output => {
  const { status, error } = ended;
  const text = [
    formatFields(fieldsOf(ended)),
    ...(failedRows.length > 0 ? ['', ...failedRows] : []),
  ];
  const output = { json: ended, text: text.join('\n') };
  if (status === 'done') return output;
  const notice = `the import ${status === 'failed' ? 'failed' : 'was stopped'}`;
  return { ...output, notice: error === null ? notice : `${notice}: ${plain(error)}`, exitCode: 1 };
};

const head = ['ID', 'FORMAT', 'STATUS', 'ROWS', 'CREATED', 'EXISTING', 'FAILED', 'STARTED'];

const listedOf = (found: ImportResponse): readonly string[] => [
  found.id,
  found.format,
  found.dryRun ? `${found.status} (dry run)` : found.status,
  ...[found.rows, found.created, found.existing, found.failed].map(count),
  found.startedAt,
];

export const addImportsCommands: AddCommands = (program, context) => {
  const { connect, isJson, print } = context;
  const imports = program.command('imports').description('list, show and stop imports');
  const id = ['<id>', 'id of the import', notEmpty('id')] as const;

  imports
    .command('list')
    .description('list the imports of one account or of all accounts')
    .option('--account <account>', 'only imports of this account')
    .examples(
      'imports list',
      "imports list --json | jq -r '.imports[] | select(.failed > 0) | .id'",
    )
    .action(async ({ account }: { readonly account?: string }) => {
      const { imports: found } = await (await connect()).get('listImports', { query: { account } });
      const text = found.length === 0 ? 'There are no imports.' : table(head, found.map(listedOf));
      print({ json: { imports: found }, text });
    });

  imports
    .command('show')
    .description('show an import with its progress')
    .argument(...id)
    .examples('imports show 01990000-0000-7000-8000-000000000000')
    .action(async (importId: string) => {
      const found = await (await connect()).get('getImport', { parameters: { id: importId } });
      print({ json: found, text: formatFields(fieldsOf(found)) });
    });

  imports
    .command('rows')
    .description('print the outcome of each row')
    .argument(...id)
    .option('--outcome <outcome>', rowOutcomes.join(', '), oneOf('outcome', rowOutcomes))
    .notes('\nWith --json, each line is an object.')
    .examples('imports rows 01990000-0000-7000-8000-000000000000 --outcome conflict')
    .action(async (importId: string, { outcome }: { readonly outcome?: RowOutcome }) => {
      await untilReaderExits(async (signal) => {
        const request = { parameters: { id: importId }, query: { outcome } };
        const bytes = await (await connect()).openBytes('getImportedRows', request, signal);
        if (isJson()) {
          for await (const chunk of bytes) await writeOut(chunk);
        } else {
          for await (const row of readRows(bytes)) await writeOut(`${rowLine(row)}\n`);
        }
      });
    });

  imports
    .command('stop')
    .description('stop an import; links that were created stay')
    .argument(...id)
    .examples('imports stop 01990000-0000-7000-8000-000000000000')
    .action(async (importId: string) => {
      const client = await connect();
      const request = { parameters: { id: importId } };
      await client.call('stopImport', request);
      const found = await client.get('getImport', request);
      print({ json: found, text: formatFields(fieldsOf(found)) });
    });
};
