/** How the commands of imports print imports and rows. */
import {
  importedRow,
  type ImportedRow,
  type ImportResponse,
} from '../../../schemas/http/imports.js';
import { jsonText } from '../../platform/json.js';
import { count, plain } from './output.js';

async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

export async function* readRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<ImportedRow> {
  const schema = jsonText.pipe(importedRow);
  for await (const line of readLines(bytes)) yield schema.parse(line);
}

export const rowLine = ({ row, code, outcome, message }: ImportedRow): string =>
  plain(`${row} ${code ?? '-'}: ${outcome}${message === null ? '' : `, ${message}`}`);

export const fieldsOf = (found: ImportResponse): [string, string | null][] => [
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
