import { aliasOverrides } from '../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Outbox, Receipt } from '../../ops/platform/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { decideAliasOverride, type SetAliasOverride } from '../domain/alias-override.js';

export interface AliasOverrideHandler {
  /** `null` where there was nothing to change. */
  set(command: SetAliasOverride, actor: Actor): Promise<Receipt | null>;
  /** The account that may use each of the aliases (lower case), so far as there is one. */
  accountsOf(aliases: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export const createAliasOverrideHandler = (pool: Pool, outbox: Outbox): AliasOverrideHandler => ({
  async set(command, actor) {
    const { decision, receipt } = await decideOne(pool, outbox, aliasOverrides, {
      ...actor,
      subject: command.alias,
      decide: (override, context) => decideAliasOverride(command, override, context),
    });
    return decision.type === 'accepted' ? receipt : null;
  },
  async accountsOf(aliases) {
    const { rows } = await pool.query<{ alias: string; account: string }>({
      name: 'overrides-find',
      text: `SELECT alias, account FROM ledger.alias_overrides
             WHERE alias = ANY ($1::text[]) AND account IS NOT NULL`,
      values: [aliases],
    });
    return new Map(rows.map(({ alias, account }) => [alias, account]));
  },
});
