import { platformFeature, type PlatformEvent } from '../../schemas/events/catalogue.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import type { Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerRows, LedgerSchema } from './decide.js';

/** Each feature has a column. */
const names = platformFeature.options;

export const readPlatform = async (
  client: Queryable,
  lock: 'FOR UPDATE' | '' = '',
  schema: LedgerSchema = 'ledger',
): Promise<PlatformState> => {
  const { rows } = await client.query<Omit<PlatformState, 'features'> & PlatformState['features']>(
    `SELECT maintenance, maintenance_since AS "maintenanceSince",
       maintenance_actor AS "maintenanceActor", ${names.join()},
       case_insensitive AS "caseInsensitive", sequence, last_event_at AS "lastEventAt"
     FROM ${schema}.platform ${lock}`,
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
  {
    maintenance,
    maintenanceSince,
    maintenanceActor,
    features,
    caseInsensitive,
    sequence,
    lastEventAt,
  }: PlatformState,
  schema: LedgerSchema = 'ledger',
): Statement => ({
  text: `UPDATE ${schema}.platform SET maintenance = $1, maintenance_since = $2, maintenance_actor = $3,
           sequence = $4, last_event_at = $5, case_insensitive = $6,
           ${names.map((name, index) => `${name} = $${index + 7}`).join()}`,
  values: [
    ...[maintenance, maintenanceSince, maintenanceActor, sequence, lastEventAt, caseInsensitive],
    ...names.map((name) => features[name]),
  ],
});

export const platformSwitches: LedgerRows<PlatformState, PlatformEvent> = {
  lock: async (tx, _subjects, schema) =>
    new Map([[platformSubject, await readPlatform(tx, 'FOR UPDATE', schema)]]),
  save: (states, schema) => Array.from(states.values(), (state) => savePlatform(state, schema)),
  changeOf: () => ({ kind: 'platform' }),
};
