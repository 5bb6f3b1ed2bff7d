import type { AliasOverrideEvent } from '../../schemas/events/catalogue.js';
import type { AliasOverride } from '../../schemas/folds/alias-override.js';
import { valuesByField } from '../platform/postgres/pool.js';
import type { LedgerRows } from './decide.js';

export const aliasOverrides: LedgerRows<AliasOverride, AliasOverrideEvent> = {
  /** Locks the table against the few other writers, because an alias without an override has no row to lock. */
  async lock(tx, aliases, schema = 'ledger') {
    await tx.query(`LOCK TABLE ${schema}.alias_overrides IN SHARE ROW EXCLUSIVE MODE`);
    const { rows } = await tx.query<AliasOverride & { readonly alias: string }>(
      `SELECT alias, account, sequence, last_event_at AS "lastEventAt" FROM ${schema}.alias_overrides
       WHERE alias = ANY ($1::text[])`,
      [aliases],
    );
    return new Map(rows.map(({ alias, ...override }) => [alias, override]));
  },
  save: (overrides, schema = 'ledger') => [
    {
      text: `INSERT INTO ${schema}.alias_overrides (alias, account, sequence, last_event_at)
             SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[])
             ON CONFLICT (alias) DO UPDATE SET account = excluded.account, sequence = excluded.sequence,
               last_event_at = excluded.last_event_at`,
      values: [
        [...overrides.keys()],
        ...valuesByField([...overrides.values()], 'account', 'sequence', 'lastEventAt'),
      ],
    },
  ],
};
