import { v7 as uuidv7 } from 'uuid';
import { ledgerNow } from '../../ops/ledger/clock.js';
import type { LedgerSchema } from '../../ops/ledger/schema.js';
import type { Outbox, Receipt } from '../../ops/platform/outbox/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import {
  evolveAliasOverride,
  noOverride,
  type AliasOverride,
} from '../../schemas/folds/alias-override.js';
import { decideAliasOverride, type SetAliasOverride } from '../domain/alias-override.js';
import type { Actor } from './api-keys.js';

export interface AliasOverrideHandler {
  /** `null` where there was nothing to change. */
  set(command: SetAliasOverride, actor: Actor): Promise<Receipt | null>;
  /** The account that may use each of the aliases (lower case), so far as there is one. */
  accountsOf(aliases: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Takes the alias's row until the transaction ends; `null` where it never had one. */
export const lockOverride = async (
  tx: Client,
  alias: string,
  schema: LedgerSchema = 'ledger',
): Promise<AliasOverride | null> => {
  const { rows } = await tx.query<AliasOverride>(
    `SELECT account, sequence, last_event_at AS "lastEventAt" FROM ${schema}.alias_overrides
     WHERE alias = $1 FOR UPDATE`,
    [alias],
  );
  return rows[0] ?? null;
};

/** Makes the row of an alias that is overridden for the first time. */
const makeOverride = async (tx: Client, alias: string): Promise<AliasOverride> => {
  await tx.query(
    `INSERT INTO ledger.alias_overrides (alias, account, sequence, last_event_at)
     VALUES ($1, NULL, 0, 'epoch') ON CONFLICT DO NOTHING`,
    [alias],
  );
  return (await lockOverride(tx, alias)) ?? noOverride;
};

/** Writes the row of an alias, new or locked by the transaction. */
export const saveOverride = async (
  tx: Client,
  alias: string,
  { account, sequence, lastEventAt }: AliasOverride,
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  await tx.query(
    `INSERT INTO ${schema}.alias_overrides (alias, account, sequence, last_event_at)
     VALUES ($1, $2, $3, $4) ON CONFLICT (alias) DO UPDATE SET account = excluded.account,
       sequence = excluded.sequence, last_event_at = excluded.last_event_at`,
    [alias, account, sequence, lastEventAt],
  );
};

export const createAliasOverrideHandler = (pool: Pool, outbox: Outbox): AliasOverrideHandler => ({
  set: (command, actor) =>
    transaction(pool, async (tx) => {
      const known = await lockOverride(tx, command.alias);
      if (known === null && command.account === null) return null;
      const override = known ?? (await makeOverride(tx, command.alias));
      const now = await ledgerNow(tx);
      const event = decideAliasOverride(command, override, { ...actor, now, newId: uuidv7 });
      if (event === null) return null;
      await saveOverride(tx, command.alias, evolveAliasOverride(override, event));
      return outbox.record(tx, [event]);
    }),
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
