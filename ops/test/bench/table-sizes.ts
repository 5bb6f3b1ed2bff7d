import type { Pool } from '../../platform/postgres/pool.js';
import { markdownTable } from '../support/table.js';

/** Bytes of each table with its indexes, by its name with the schema. */
export type TableSizes = ReadonlyMap<string, number>;

export const readTableSizes = async (pool: Pool): Promise<TableSizes> => {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `SELECT schemaname || '.' || tablename AS name,
       pg_total_relation_size(format('%I.%I', schemaname, tablename)) AS bytes FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
};

/** Prints the growth of each table in bytes, divided by `count`. */
export const printGrowth = (
  what: string,
  before: TableSizes,
  after: TableSizes,
  count: number,
): void => {
  const growth = [...after].map(
    ([table, bytes]) => [table, (bytes - (before.get(table) ?? 0)) / count] as const,
  );
  const total = growth.reduce((sum, [, bytes]) => sum + bytes, 0);
  const rows = [...growth, ['all', total] as const]
    .map(([table, bytes]) => [table, Math.round(bytes)] as const)
    .filter(([, bytes]) => bytes > 0);
  process.stdout.write(`\n${markdownTable([`Bytes of ${what}`, count], rows)}`);
};
