import { platformFeature, type PlatformEvent } from '../../schemas/events/catalogue.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import type { Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { columnOf, selected } from './rows.js';

const fields = [
  ...(['maintenance', 'maintenanceSince', 'maintenanceActor'] as const),
  ...(['caseInsensitive', 'sequence', 'lastEventAt'] as const),
];
/** Each feature has a column. */
const names = platformFeature.options;

export const readPlatform = async (
  client: Queryable,
  lock: 'FOR UPDATE' | '' = '',
  schema: LedgerSchema = 'ledger',
): Promise<PlatformState> => {
  const { rows } = await client.query<Omit<PlatformState, 'features'> & PlatformState['features']>(
    `SELECT ${selected([...fields, ...names])} FROM ${schema}.platform ${lock}`,
  );
  const [row] = rows;
  if (!row) throw new Error('ledger.platform has no row');
  const { maintenance, maintenanceSince, maintenanceActor, ...others } = row;
  const { caseInsensitive, sequence, lastEventAt, ...features } = others;
  return {
    ...{ maintenance, maintenanceSince, maintenanceActor, features },
    ...{ caseInsensitive, sequence, lastEventAt },
  };
};

export const savePlatform = (
  { features, ...state }: PlatformState,
  schema: LedgerSchema = 'ledger',
): Statement => ({
  text: `UPDATE ${schema}.platform SET
           ${[...fields, ...names].map((field, index) => `${columnOf(field)} = $${index + 1}`).join()}`,
  values: [...fields.map((field) => state[field]), ...names.map((name) => features[name])],
});

export const platformSwitches: LedgerRows<PlatformState, PlatformEvent> = {
  lock: async (tx, _subjects, schema) =>
    new Map([[platformSubject, await readPlatform(tx, 'FOR UPDATE', schema)]]),
  save: (states, schema) => Array.from(states.values(), (state) => savePlatform(state, schema)),
  changeOf: () => ({ kind: 'platform' }),
};
