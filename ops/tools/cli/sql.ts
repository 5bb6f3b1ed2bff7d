import { createInterface } from 'node:readline';
import type { QueryConfig } from 'pg';
import type { Pool } from '../../platform/postgres/pool.js';
import { transaction } from '../../platform/postgres/pool.js';
import type { AddCommands } from './command.js';
import { withTables } from './database.js';
import { CliError, messageOf } from './errors.js';
import { interruptible } from './long-work.js';
import { counted, plain, table } from './output.js';

/** Rows that are printed. */
const maxRows = 1_000;
/** Rows that are read in one part, and the characters of their JSON after which no part follows. */
const rowsOfPart = 50;
const maxCharacters = 8_000_000;
/** Of one statement. */
const statementTimeout = '30s';

const cellOf = (value: unknown): string => {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
};

interface Selected {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** Whether there are more rows. */
  readonly isCut: boolean;
}

/** Runs one statement in a transaction that can only read, and reads its first rows. */
const select = (pool: Pool, statement: string): Promise<Selected> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION READ ONLY');
    await tx.query(`SET LOCAL statement_timeout = '${statementTimeout}'`);
    // The extended protocol accepts one statement only, so a second one cannot end the transaction.
    const text = `DECLARE selected CURSOR FOR ${statement}`;
    await tx.query({ text, queryMode: 'extended' } as QueryConfig);
    const rows: unknown[][] = [];
    let characters = 0;
    for (;;) {
      const part = await tx.query<unknown[]>({
        ...{ text: `FETCH ${rowsOfPart} FROM selected`, rowMode: 'array' as const },
      });
      rows.push(...part.rows);
      characters += JSON.stringify(part.rows).length;
      const isComplete = part.rows.length < rowsOfPart;
      if (!isComplete && rows.length <= maxRows && characters <= maxCharacters) continue;
      return {
        columns: part.fields.map(({ name }) => name),
        rows: rows.slice(0, maxRows),
        isCut: !isComplete || rows.length > maxRows,
      };
    }
  });

const textOf = ({ columns, rows, isCut }: Selected): string => {
  const end = isCut ? `the first ${counted(rows.length, 'row')}` : counted(rows.length, 'row');
  return `${table(
    columns,
    rows.map((row) => row.map(cellOf)),
  )}\n(${end})`;
};

const jsonOf = ({ columns, rows }: Selected) => ({
  rows: rows.map((row) =>
    Object.fromEntries(row.map((value, index) => [columns[index] ?? '', value] as const)),
  ),
});

const withoutEnd = (text: string): string => text.trim().replace(/;+$/, '');

/** Statements from stdin, each ended by a semicolon or the end of the input. */
async function* statementsOf(input: NodeJS.ReadStream): AsyncGenerator<string> {
  const lines = createInterface({ input, output: process.stderr, prompt: 'linklog=> ' });
  let text = '';
  if (input.isTTY) lines.prompt();
  for await (const line of lines) {
    text += `${line}\n`;
    if (line.trimEnd().endsWith(';')) {
      if (withoutEnd(text) !== '') yield withoutEnd(text);
      text = '';
    }
    if (input.isTTY) lines.prompt();
  }
  if (withoutEnd(text) !== '') yield withoutEnd(text);
}

export const addSqlCommand: AddCommands = (program, { readConfig, print, isJson }) => {
  program
    .command('sql')
    .description('run SELECT statements on the database of this installation, without changes')
    .argument('[statement]', 'the statement; without it, statements from stdin, each with a ;')
    .notes(
      `
A statement can only read, takes at most 30 s, and prints at most ${maxRows} rows or about 8 MB. The tables contain
secrets.`,
    )
    .examples(
      `sql 'SELECT domain, account FROM ledger.domains'`,
      `sql --json 'SELECT * FROM public.processes' | jq '.rows[].version'`,
    )
    .action(async (statement?: string) => {
      const run = async (pool: Pool, text: string): Promise<void> => {
        const selected = await select(pool, text).catch((cause: unknown) => {
          throw new CliError('REFUSED', messageOf(cause), { cause });
        });
        print(isJson() ? { json: jsonOf(selected) } : { text: textOf(selected) });
      };
      const runAll = async (pool: Pool): Promise<void> => {
        if (statement !== undefined) {
          await run(pool, withoutEnd(statement));
          return;
        }
        for await (const text of statementsOf(process.stdin)) {
          await run(pool, text).catch((error: unknown) => {
            if (!process.stdin.isTTY) throw error;
            process.stderr.write(`linklog: ${messageOf(error)}\n`);
          });
        }
      };
      await interruptible({ work: 'the query' }, () => withTables(readConfig(), runAll));
    });
};
