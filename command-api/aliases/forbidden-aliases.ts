import type { Pool } from '../../ops/platform/postgres/pool.js';
import { readAliasOverrides } from './overrides.js';
import { reservedAliases } from './reserved-alias.js';
import { readReservedWords } from './reserved-words.js';

/** Which of these aliases are reserved, except for those that operators assigned to the account. */
export type FindForbidden = (
  aliases: readonly string[],
  account: string,
) => Promise<ReadonlySet<string>>;

export const createFindForbidden = (pool: Pool): FindForbidden => {
  const findReservation = reservedAliases(readReservedWords());
  return async (aliases, account) => {
    const reserved = aliases.filter((alias) => findReservation(alias) !== null);
    if (reserved.length === 0) return new Set();
    const names = reserved.map((alias) => alias.toLowerCase());
    const accounts = await readAliasOverrides(pool, names);
    return new Set(reserved.filter((alias) => accounts.get(alias.toLowerCase()) !== account));
  };
};
