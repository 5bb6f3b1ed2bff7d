import type { Pool } from '../../ops/platform/postgres/pool.js';
import { reservedAliases, type ReservedWords } from './reserved-alias.js';
import { readFileSync } from 'node:fs';
import { EventLoopShare } from '../../ops/platform/concurrency/periodic.js';
import { parseList } from '../../ops/platform/parse.js';
import { projectFile } from '../../ops/platform/files/project-file.js';

const words = (name: string): readonly string[] =>
  parseList(readFileSync(projectFile('command-api', 'aliases', 'reserved', `${name}.txt`), 'utf8'));

/** Reads the reserved list of the product. */
export const readReservedWords = (): ReservedWords => ({
  systemRoutes: words('system-routes'),
  brands: words('brands'),
  governments: words('governments'),
  ordinaryNames: words('ordinary-names'),
  loginWords: words('login-words'),
  lures: words('lures'),
  fillers: words('fillers'),
  prepositions: words('prepositions'),
});

/** The account that an operator allowed to use a reserved alias, by alias (lower case). */
const readAliasOverrides = async (
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

/** Which of these aliases are reserved, except for those that operators assigned to the account. */
type FindForbidden = (aliases: readonly string[], account: string) => Promise<ReadonlySet<string>>;

/** Read once: building its patterns takes milliseconds. */
let findReservation: ReturnType<typeof reservedAliases> | null = null;

/** Whether only the account that an operator allowed it may use an alias. */
export const isReservedAlias = (alias: string): boolean => {
  findReservation ??= reservedAliases(readReservedWords());
  return findReservation(alias) !== null;
};

export const createFindForbidden = (pool: Pool): FindForbidden => {
  return async (aliases, account) => {
    const share = new EventLoopShare();
    const reserved: string[] = [];
    // The codes of an import have up to 190 characters, which take 1 ms each.
    for (const alias of aliases) {
      if (isReservedAlias(alias)) reserved.push(alias);
      if (share.isUsedUp) await share.renew();
    }
    if (reserved.length === 0) return new Set();
    const names = reserved.map((alias) => alias.toLowerCase());
    const accounts = await readAliasOverrides(pool, names);
    return new Set(reserved.filter((alias) => accounts.get(alias.toLowerCase()) !== account));
  };
};
