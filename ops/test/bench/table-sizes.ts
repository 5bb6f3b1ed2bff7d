import type { Pool } from '../../platform/postgres/pool.js';

/** Bytes of each table, indexes included, by its name with the schema. */
export type TableSizes = ReadonlyMap<string, number>;

export const tableSizes = async (pool: Pool): Promise<TableSizes> => {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `SELECT schemaname || '.' || tablename AS name,
       pg_total_relation_size(format('%I.%I', schemaname, tablename)) AS bytes FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
};

/** Prints what each table grew by for one of `count`, in bytes. */
export const printGrowth = (
  what: string,
  before: TableSizes,
  after: TableSizes,
  count: number,
): void => {
  const grown = [...after].map(([table, bytes]) => ({
    table,
    bytes: Math.round((bytes - (before.get(table) ?? 0)) / count),
  }));
  const all = [...after.values()].reduce((sum, bytes) => sum + bytes, 0);
  const start = [...before.values()].reduce((sum, bytes) => sum + bytes, 0);
  process.stdout.write(`\n| Bytes of ${what} | ${count} |\n| --- | --- |\n`);
  for (const { table, bytes } of grown.filter((one) => one.bytes > 0)) {
    process.stdout.write(`| ${table} | ${bytes} |\n`);
  }
  process.stdout.write(`| all | ${Math.round((all - start) / count)} |\n`);
};
