import type { Fold } from './folds.js';
import type { Difference, VerifiedTable } from './report.js';

/** The compared columns of a table, without generated columns, whose sources are compared. */
interface Columns {
  readonly keys: readonly string[];
  readonly others: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

/** A row of the live table and of the fold; `null` if there is none. */
type RowPair = Readonly<Record<'found' | 'expected', Row | null>>;

/** Columns whose values a report must not contain: hashes, and records of the log. */
const secretColumns: ReadonlySet<string> = new Set([
  'links.password_hash',
  'key_secrets.hash',
  'webhooks.secrets',
  'dead_letters.value',
]);

export type ComparedTable = VerifiedTable & { readonly reported: readonly Difference[] };

const tablesOf = async ({ client, live, ignored }: Fold): Promise<readonly string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY relname`,
    [live],
  );
  return rows.map(({ name }) => name).filter((name) => !ignored.isTable(name));
};

const columnsOf = async ({ client, live, ignored }: Fold, table: string): Promise<Columns> => {
  const { rows } = await client.query<{ name: string; isKey: boolean }>(
    `SELECT a.attname AS name, coalesce(a.attnum = ANY (i.indkey), false) AS "isKey"
     FROM pg_attribute a LEFT JOIN LATERAL (
       SELECT indkey FROM pg_index WHERE indrelid = a.attrelid AND indisunique
       ORDER BY indisprimary DESC LIMIT 1
     ) i ON true
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     ORDER BY a.attnum`,
    [`${live}.${table}`],
  );
  const compared = rows.filter(({ name }) => !ignored.columns[table]?.includes(name));
  const named = (isKey: boolean): readonly string[] =>
    compared.filter((column) => column.isKey === isKey).map(({ name }) => name);
  return { keys: named(true), others: named(false) };
};

const differenceOf = (
  { model }: Fold,
  table: string,
  { keys, others }: Columns,
  { found, expected }: RowPair,
): Difference => {
  const valueIn = (row: Row | null, name: string): unknown => {
    if (row === null) return undefined;
    return secretColumns.has(`${table}.${name}`) && row[name] !== null ? '(secret)' : row[name];
  };
  return {
    model,
    table,
    kind: found === null ? 'missing' : expected === null ? 'extra' : 'differs',
    key: Object.fromEntries(keys.map((name) => [name, valueIn(found ?? expected, name)])),
    columns: others
      .filter((name) => JSON.stringify(found?.[name]) !== JSON.stringify(expected?.[name]))
      .map((name) => ({ name, found: valueIn(found, name), expected: valueIn(expected, name) })),
  };
};

/** Compares a live table with the fold's by row. Reports `limit` differences at most. */
const compareTable = async (fold: Fold, table: string, limit: number): Promise<ComparedTable> => {
  const { client, live, model } = fold;
  const columns = await columnsOf(fold, table);
  const { keys, others } = columns;
  const [key] = keys;
  if (key === undefined) throw new Error(`${live}.${table} has no key to compare it by`);
  const rowOf = (side: string): string => `(${others.map((name) => `${side}.${name}`).join(', ')})`;
  const rowsOf = (schema: string): string =>
    fold.compared(table, `${schema}.${table}`, [...keys, ...others]);
  const joined = `${rowsOf(live)} l FULL JOIN ${rowsOf('pg_temp')} f
    ON ${keys.map((name) => `l.${name} = f.${name}`).join(' AND ')}`;
  const differs = `(l.${key} IS NULL OR f.${key} IS NULL
    ${others.length === 0 ? '' : `OR ${rowOf('l')} IS DISTINCT FROM ${rowOf('f')}`})`;

  const { rows: counts } = await client.query<{ rows: number; differences: number }>(
    `SELECT count(l.${key}) AS rows, count(*) FILTER (WHERE ${differs}) AS differences FROM ${joined}`,
  );
  const { rows = 0, differences = 0 } = counts[0] ?? {};
  if (differences === 0) return { model, table, rows, differences, reported: [] };
  const { rows: pairs } = await client.query<RowPair>(
    `SELECT CASE WHEN l.${key} IS NOT NULL THEN to_jsonb(l) END AS found,
            CASE WHEN f.${key} IS NOT NULL THEN to_jsonb(f) END AS expected
     FROM ${joined} WHERE ${differs}
     ORDER BY ${keys.map((name) => `coalesce(l.${name}, f.${name})`).join(', ')} LIMIT $1`,
    [limit],
  );
  const reported = pairs.map((pair) => differenceOf(fold, table, columns, pair));
  return { model, table, rows, differences, reported };
};

/** Compares all tables of a fold with the live ones in the open transaction. */
export const compareTables = async (
  fold: Fold,
  limit: number,
): Promise<readonly ComparedTable[]> => {
  const tables = await tablesOf(fold);
  await fold.client.query(`ANALYZE ${tables.map((table) => `pg_temp.${table}`).join(', ')}`);
  const compared = [];
  for (const table of tables) compared.push(await compareTable(fold, table, limit));
  return compared;
};

/** Returns the oid of the live schema, which a rebuild replaces. */
export const identityOf = async ({ client, live }: Fold): Promise<string> => {
  const { rows } = await client.query<{ id: string }>(`SELECT $1::regnamespace::oid::text AS id`, [
    live,
  ]);
  return rows[0]?.id ?? '';
};
