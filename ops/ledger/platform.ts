import type { PlatformEvent } from '../../schemas/events/catalogue.js';
import {
  evolvePlatform,
  initialPlatform,
  platformSubject,
  type PlatformFeature,
  type PlatformState,
} from '../../schemas/folds/platform.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { LedgerSchema, LedgerState } from './decide.js';

interface Row extends Readonly<Record<PlatformFeature | 'maintenance', boolean>> {
  readonly sequence: number;
  readonly last_event_at: Date;
}

/** The platform's switches; `lock` keeps them as they are until the transaction ends. */
export const readPlatform = async (
  client: Queryable,
  lock: 'FOR UPDATE' | '' = '',
  schema: LedgerSchema = 'ledger',
): Promise<PlatformState> => {
  const { rows } = await client.query<Row>(`SELECT * FROM ${schema}.platform ${lock}`);
  const [row] = rows;
  if (!row) throw new Error('The ledger has no platform row');
  const { maintenance, shortening, aliases, passwords, expiration, qr } = row;
  return {
    maintenance,
    features: { shortening, aliases, passwords, expiration, qr },
    sequence: row.sequence,
    lastEventAt: row.last_event_at,
  };
};

export const savePlatform = async (
  tx: Client,
  state: PlatformState,
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  const { maintenance, features, sequence, lastEventAt } = state;
  await tx.query(
    `UPDATE ${schema}.platform SET maintenance = $1, shortening = $2, aliases = $3, passwords = $4,
       expiration = $5, qr = $6, sequence = $7, last_event_at = $8`,
    [
      maintenance,
      features.shortening,
      features.aliases,
      features.passwords,
      features.expiration,
      features.qr,
      sequence,
      lastEventAt,
    ],
  );
};

export const platformSwitches: LedgerState<PlatformState, PlatformEvent> = {
  initial: initialPlatform,
  lock: async (tx) => new Map([[platformSubject, await readPlatform(tx, 'FOR UPDATE')]]),
  evolve: evolvePlatform,
  async save(tx, states) {
    for (const state of states.values()) await savePlatform(tx, state);
  },
  changeOf: () => ({ kind: 'platform' }),
};
