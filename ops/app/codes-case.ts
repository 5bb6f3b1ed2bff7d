/** CODES_CASE: the first start chooses it, and the log keeps it. */
import { platformDecider } from '../../command-api/platform/command.js';
import { ownActors } from '../../schemas/decision.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { advisoryLocks } from '../advisory-locks.js';
import type { Config } from '../config/config.js';
import type { Outbox } from '../event-log/outbox/port.js';
import { decideOneIn } from '../ledger/decide.js';
import { platformSwitches } from '../ledger/platform.js';
import { ConfigError } from '../platform/errors.js';
import { transaction, type Pool, type Queryable } from '../platform/postgres/pool.js';

type CodesCase = Config['codesCase'];

const readCodesCase = async (postgres: Queryable) => {
  const { rows } = await postgres.query<{ chosen: CodesCase; isNew: boolean }>({
    name: 'codes-case',
    // Every other row of the ledger depends on one of these.
    text: `SELECT CASE WHEN case_insensitive THEN 'insensitive' ELSE 'sensitive' END AS chosen,
             sequence = 0 AND NOT EXISTS (SELECT FROM ledger.api_keys)
               AND NOT EXISTS (SELECT FROM ledger.links) AND NOT EXISTS (SELECT FROM ledger.domains)
               AND NOT EXISTS (SELECT FROM ledger.alias_overrides) AS "isNew"
           FROM ledger.platform`,
  });
  const [row] = rows;
  if (!row) throw new Error('ledger.platform has no row');
  return row;
};

/**
 * Checks that this process treats codes as the installation does. On a new installation, every process may start before
 * the API that chooses.
 *
 * @throws ConfigError
 */
export const requireCodesCase = async (postgres: Queryable, configured: CodesCase) => {
  const { chosen, isNew } = await readCodesCase(postgres);
  if (chosen === configured || (isNew && configured === 'insensitive')) return;
  throw new ConfigError(
    `CODES_CASE is ${configured}, but the first start of this installation chose ${chosen}, which cannot change`,
  );
};

/** Makes the codes of the default domain case-insensitive, if the installation is new. */
export const chooseInsensitive = (pool: Pool, outbox: Outbox): Promise<void> =>
  transaction(pool, async (tx) => {
    // APIs that start concurrently must not create the first key meanwhile.
    await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.firstKey]);
    const { isNew } = await readCodesCase(tx);
    await decideOneIn(tx, outbox, platformSwitches, platformDecider, {
      type: 'ChooseCodesCase',
      subject: platformSubject,
      data: { isNew },
      metadata: { actor: ownActors.system, requestId: 'first-start' },
    });
  });
