import { aliasOverrides } from '../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { decideAliasOverride, type SetAliasOverride } from '../domain/alias-override.js';

export const setAliasOverride = (
  pool: Pool,
  outbox: Outbox,
  command: SetAliasOverride,
  actor: Actor,
) =>
  decideOne(pool, outbox, aliasOverrides, {
    ...actor,
    subject: command.alias,
    decide: (override, context) => decideAliasOverride(command, override, context),
  });

/** The account that may use each of the aliases (lower case), if there is one. */
export const overriddenFor = async (
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
