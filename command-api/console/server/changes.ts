import { readPlatform } from '../../../ops/ledger/platform.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import type { ConsoleChanges } from '../../../schemas/http/console.js';
import { accountsPartition } from '../../../schemas/read-models/history.js';

/** Increases with each event of an account, except visits. */
export const accountVersion = async (pool: Pool, account: string): Promise<number> => {
  const { rows } = await pool.query<{ version: number }>({
    name: 'console-account-version',
    text: `SELECT coalesce(sum(record_offset + 1), 0)::bigint AS version
           FROM generate_series(0, ${accountsPartition}) AS p (partition) CROSS JOIN LATERAL (
             SELECT record_offset FROM projection_history.events e
             WHERE e.account = $1 AND e.partition = p.partition
             ORDER BY record_offset DESC LIMIT 1) newest`,
    values: [account],
  });
  return rows[0]?.version ?? 0;
};

/** Increases with each event of all accounts and of the platform, except visits. */
export const platformVersion = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ version: number }>({
    name: 'console-platform-version',
    text: `SELECT coalesce(sum(next_offset), 0)::bigint AS version
           FROM projection_history.checkpoints`,
  });
  return rows[0]?.version ?? 0;
};

/** @param version of the data that the session's pages show @param isOperator sees the name of the operator */
export const changesOf = async (
  pool: Pool,
  version: number,
  isOperator: boolean,
): Promise<ConsoleChanges> => {
  const { maintenanceSince, maintenanceActor } = await readPlatform(pool);
  return {
    version,
    maintenance: maintenanceSince && {
      since: maintenanceSince.toISOString(),
      actor: isOperator ? maintenanceActor : null,
    },
  };
};
