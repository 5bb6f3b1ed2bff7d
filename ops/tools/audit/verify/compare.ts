import type { Fold } from './folds.js';
import type { Difference, VerifiedTable } from './report.js';

/** The compared columns of a table, without generated columns, whose sources are compared. */
interface Columns {
  readonly table: string;
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
  'shares.token_hash',
  'shares.password_hash',
  'people.identity',
  'people.name',
  'people.email',
  'roles.hash',
  'invitations.token_hash',
  'invitations.email',
  'dead_letters.value',
]);

interface ComparedTable {
  readonly counts: VerifiedTable;
  readonly reported: readonly Difference[];
}

const columnsOf = async ({ client, ignored }: Fold): Promise<readonly Columns[]> => {
  const { rows } = await client.query<Columns>(
    `SELECT c.relname AS "table",
            coalesce(array_agg(a.attname::text ORDER BY attnum) FILTER (WHERE attnum = ANY (i.indkey)), '{}') AS keys,
            coalesce(array_agg(a.attname::text ORDER BY attnum) FILTER (WHERE attnum <> ALL (i.indkey)), '{}') AS others
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     LEFT JOIN LATERAL (
       SELECT indkey FROM pg_index WHERE indrelid = c.oid AND indisunique ORDER BY indisprimary DESC LIMIT 1
     ) i ON true
     WHERE c.relnamespace = pg_my_temp_schema() AND c.relkind = 'r' AND c.relname <> ALL ($1)
       AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     GROUP BY c.relname ORDER BY c.relname`,
    [ignored.tables],
  );
  return rows.map(({ table, keys, others }) => ({
    ...{ table, keys },
    others: others.filter((name) => !ignored.columns[table]?.includes(name)),
  }));
};

const monthOfDay = `(extract(year FROM date '1970-01-01' + r.day) - 1970) * 12
  + extract(month FROM date '1970-01-01' + r.day) - 1`;

/** The tables with documents of accounts: the column of the period, and its value for a redriven day. */
const periods: Readonly<Record<string, readonly [column: string, ofDay: string]>> = {
  accounts: ['day', 'r.day'],
  account_days: ['day', 'r.day'],
  account_quarters: ['day', 'r.day'],
  account_months: ['month', monthOfDay],
};

/** For each list of a document, the sum of the numbers outside its quoted values. */
const clicksOfLists = `(
  SELECT string_agg((SELECT sum(number[1]::numeric) FROM regexp_matches(list, '-?\\d+', 'g') number)::text,
    ',' ORDER BY place)
  FROM regexp_split_to_table(regexp_replace(document, '"(?:[^"\\\\]|\\\\.)*"', '', 'g'), '\\],\\[')
    WITH ORDINALITY AS lists (list, place))`;

/**
 * Returns a FROM item with the compared columns of a table.
 *
 * An account keeps the first 100 values of a day in the order of the log. Redriven visits are applied out of order, so
 * their days may keep other values than a fold. Until a rebuild, only the clicks of each dimension of such a day are
 * compared.
 */
const rowsOf = ({ model }: Fold, schema: string, { table, keys, others }: Columns): string => {
  const rows = `${schema}.${table}`;
  const period = model === 'stats' ? periods[table] : undefined;
  if (!period) return rows;
  const [column, ofDay] = period;
  const document = `CASE WHEN EXISTS (
      SELECT FROM projection_stats.redriven_days r
      WHERE r.account = t.account AND r.partition = t.partition AND ${ofDay} = t.${column}
    ) THEN ${clicksOfLists} ELSE document END AS document`;
  const selected = [...keys, ...others].map((name) => (name === 'document' ? document : name));
  return `(SELECT ${selected.join(', ')} FROM ${rows} t)`;
};

const differenceOf = (
  { model }: Fold,
  { table, keys, others }: Columns,
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
const compareTable = async (
  fold: Fold,
  columns: Columns,
  limit: number,
): Promise<ComparedTable> => {
  const { client, live, model } = fold;
  const { table, keys, others } = columns;
  const [key] = keys;
  if (key === undefined) throw new Error(`${live}.${table} has no key to compare it by`);
  const tupleOf = (side: string): string =>
    `(${others.map((name) => `${side}.${name}`).join(', ')})`;
  const joined = `${rowsOf(fold, live, columns)} l FULL JOIN ${rowsOf(fold, 'pg_temp', columns)} f
    ON ${keys.map((name) => `l.${name} = f.${name}`).join(' AND ')}`;
  const differs = `(l.${key} IS NULL OR f.${key} IS NULL
    ${others.length === 0 ? '' : `OR ${tupleOf('l')} IS DISTINCT FROM ${tupleOf('f')}`})`;

  const { rows: sums } = await client.query<{ rows: number; differences: number }>(
    `SELECT count(l.${key}) AS rows, count(*) FILTER (WHERE ${differs}) AS differences FROM ${joined}`,
  );
  const { rows = 0, differences = 0 } = sums[0] ?? {};
  const counts = { model, table, rows, differences };
  if (differences === 0) return { counts, reported: [] };
  const { rows: pairs } = await client.query<RowPair>(
    `SELECT CASE WHEN l.${key} IS NOT NULL THEN to_jsonb(l) END AS found,
            CASE WHEN f.${key} IS NOT NULL THEN to_jsonb(f) END AS expected
     FROM ${joined} WHERE ${differs}
     ORDER BY ${keys.map((name) => `coalesce(l.${name}, f.${name})`).join(', ')} LIMIT $1`,
    [limit],
  );
  const reported = pairs.map((pair) => differenceOf(fold, columns, pair));
  return { counts, reported };
};

/** Compares all tables of a fold with the live ones in the open transaction. */
export const compareTables = async (
  fold: Fold,
  limit: number,
): Promise<readonly ComparedTable[]> => {
  const tables = await columnsOf(fold);
  await fold.client.query(`ANALYZE ${tables.map(({ table }) => `pg_temp.${table}`).join(', ')}`);
  const compared = [];
  for (const columns of tables) compared.push(await compareTable(fold, columns, limit));
  return compared;
};
