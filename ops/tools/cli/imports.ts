import {
  rowOutcomes,
  type ImportResponse,
  type RowOutcome,
} from '../../../schemas/http/imports.js';
import { notEmpty, oneOf } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { fieldsOf, readRows, rowLine } from './import-output.js';
import { untilReaderExits } from './long-work.js';
import { count, formatFields, table, writeOut } from './output.js';

const head = ['ID', 'FORMAT', 'STATUS', 'ROWS', 'CREATED', 'EXISTING', 'FAILED', 'STARTED'];

const listedOf = (found: ImportResponse): readonly string[] => [
  found.id,
  found.format,
  found.dryRun ? `${found.status} (dry run)` : found.status,
  ...[found.rows, found.created, found.existing, found.failed].map(count),
  found.startedAt,
];

export const addImportsCommands = (program: Command, context: CommandContext): void => {
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
