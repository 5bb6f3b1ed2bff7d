import type { Client } from '../../../platform/postgres/pool.js';
import type { Fold } from './folds.js';
import type { Difference, VerifiedTable } from './report.js';

interface Column {
  readonly name: string;
  readonly isKey: boolean;
}

type Row = Readonly<Record<string, unknown>>;

/** What nobody should read in a report: hashes, and records as they stand in the log. */
const secretColumns: ReadonlySet<string> = new Set([
  'links.password_hash',
  'api_keys.hash',
  'dead_letters.value',
]);

const tablesOf = async ({ client, live, ignored }: Fold): Promise<readonly string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY relname`,
    [live],
  );
  return rows.map(({ name }) => name).filter((name) => !ignored.isTable(name));
};

const columnsOf = async (client: Client, table: string): Promise<readonly Column[]> => {
  const { rows } = await client.query<Column>(
    `SELECT a.attname AS name, coalesce(a.attnum = ANY (i.indkey), false) AS "isKey"
     FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [table],
  );
  return rows;
};

const differenceOf = (
  { model }: Fold,
  table: string,
  columns: readonly Column[],
  { found, expected }: { readonly found: Row | null; readonly expected: Row | null },
): Difference => {
  const valueIn = (row: Row | null, name: string): unknown => {
    if (row === null) return undefined;
    return secretColumns.has(`${table}.${name}`) && row[name] !== null ? '(secret)' : row[name];
  };
  const differs = (name: string): boolean =>
    JSON.stringify(found?.[name]) !== JSON.stringify(expected?.[name]);
  return {
    model,
    table,
    kind: found === null ? 'missing' : expected === null ? 'extra' : 'differs',
    key: Object.fromEntries(
      columns
        .filter(({ isKey }) => isKey)
        .map(({ name }) => [name, valueIn(found ?? expected, name)]),
    ),
    columns: columns
      .filter(({ name, isKey }) => !isKey && differs(name))
      .map(({ name }) => ({
        name,
        found: valueIn(found, name),
        expected: valueIn(expected, name),
      })),
  };
};

/** Compares a live table with the fold's, row for row; tells at most `limit` of the differences. */
const compareTable = async (
  fold: Fold,
  table: string,
  limit: number,
): Promise<VerifiedTable & { readonly told: readonly Difference[] }> => {
  const { client, live, ignored, model } = fold;
  const columns = (await columnsOf(client, `${live}.${table}`)).filter(
    ({ name }) => !ignored.columns[table]?.includes(name),
  );
  const keys = columns.filter(({ isKey }) => isKey).map(({ name }) => name);
  const [key] = keys;
  if (key === undefined) throw new Error(`${live}.${table} has no primary key to compare it by`);
  const others = columns.filter(({ isKey }) => !isKey).map(({ name }) => name);
  const rowOf = (side: string): string => `(${others.map((name) => `${side}.${name}`).join(', ')})`;
  const both = `${live}.${table} l FULL JOIN pg_temp.${table} f
    ON ${keys.map((name) => `l.${name} = f.${name}`).join(' AND ')}`;
  const differs = `(l.${key} IS NULL OR f.${key} IS NULL
    ${others.length === 0 ? '' : `OR ${rowOf('l')} IS DISTINCT FROM ${rowOf('f')}`})`;

  const { rows: counts } = await client.query<{ rows: number; differences: number }>(
    `SELECT count(l.${key}) AS rows, count(*) FILTER (WHERE ${differs}) AS differences FROM ${both}`,
  );
  const { rows = 0, differences = 0 } = counts[0] ?? {};
  const told =
    differences === 0
      ? []
      : (
          await client.query<{ found: Row | null; expected: Row | null }>(
            `SELECT CASE WHEN l.${key} IS NOT NULL THEN to_jsonb(l) END AS found,
                    CASE WHEN f.${key} IS NOT NULL THEN to_jsonb(f) END AS expected
             FROM ${both} WHERE ${differs}
             ORDER BY ${keys.map((name) => `coalesce(l.${name}, f.${name})`).join(', ')} LIMIT $1`,
            [limit],
          )
        ).rows.map((row) => differenceOf(fold, table, columns, row));
  return { model, table, rows, differences, told };
};

/** Compares all tables of a fold with the live ones, in the transaction that is open. */
export const compareTables = async (
  fold: Fold,
  limit: number,
): Promise<readonly (VerifiedTable & { readonly told: readonly Difference[] })[]> => {
  const tables = await tablesOf(fold);
  await fold.client.query(`ANALYZE ${tables.map((table) => `pg_temp.${table}`).join(', ')}`);
  const compared = [];
  for (const table of tables) compared.push(await compareTable(fold, table, limit));
  return compared;
};

/** The identity of the live tables: a rebuild that takes their place changes it. */
export const identityOf = async ({ client, live }: Fold): Promise<string> => {
  const { rows } = await client.query<{ id: string }>(`SELECT $1::regnamespace::oid::text AS id`, [
    live,
  ]);
  return rows[0]?.id ?? '';
};
