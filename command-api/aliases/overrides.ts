import type { Pool } from '../../ops/platform/postgres/pool.js';

/** The account that an operator allowed to use a reserved alias, by alias (lower case). */
export const readAliasOverrides = async (
  pool: Pool,
  aliases: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await pool.query<{ alias: string; account: string }>({
    name: 'overrides-find',
    text: `SELECT alias, account FROM ledger.alias_overrides
           WHERE alias = ANY ($1::text[]) AND account IS NOT NULL`,
    values: [aliases],
  });
  return new Map(rows.map(({ alias, account }) => [alias, account]));
};
