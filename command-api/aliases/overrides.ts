import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { OverridePage } from '../../schemas/http/operators.js';

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

/** Reads the overrides after an alias, in the order of aliases. */
export const listAliasOverrides = async (
  pool: Pool,
  after: string,
  limit: number,
): Promise<OverridePage> => {
  const { rows } = await pool.query<{ alias: string; account: string; since: Date }>({
    name: 'overrides-list',
    text: `SELECT alias, account, last_event_at AS since FROM ledger.alias_overrides
           WHERE account IS NOT NULL AND alias > $1 ORDER BY alias LIMIT $2`,
    values: [after, limit + 1],
  });
  const page = rows.slice(0, limit);
  return {
    overrides: page.map(({ since, ...override }) => ({ ...override, since: since.toISOString() })),
    next: rows.length > limit ? (page.at(-1)?.alias ?? null) : null,
  };
};
