import { exportFormats, type ExportFormat } from '../../../schemas/http/export.js';
import { oneOf } from './arguments.js';
import type { AddCommands } from './command.js';
import { untilReaderExits } from './long-work.js';
import { writeOut } from './output.js';

interface ExportOptions {
  readonly account: string;
  readonly format: ExportFormat;
}

export const addExportCommand: AddCommands = (program, { connect }) => {
  program
    .command('export')
    .description('print all links of an account, from one snapshot')
    .option('--account <account>', 'account', 'default')
    .option('--format <format>', exportFormats.join(', '), oneOf('format', exportFormats), 'jsonl')
    .notes('\nThe exit code is 0 only if the export is complete, or if its reader exited.')
    .examples(
      'export --account shop > links.jsonl',
      'export --account shop --format csv > links.csv',
      'export | jq -r .url',
    )
    .action(async ({ account, format }: ExportOptions) => {
      await untilReaderExits(async (signal) => {
        const query = { account, format };
        const file = await (await connect()).openBytes('exportLinks', { query }, signal);
        for await (const bytes of file) {
          await writeOut(bytes);
        }
      });
    });
};
