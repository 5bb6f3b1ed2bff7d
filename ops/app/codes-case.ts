/** CODES_CASE: the first start chooses it, and the log keeps it. */
import { platformDecider } from '../../command-api/platform/command.js';
import { ownActors } from '../../schemas/decision.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { advisoryLocks } from '../advisory-locks.js';
import type { Config } from '../config/config.js';
import type { Outbox } from '../event-log/outbox/port.js';
import { decideOneIn } from '../ledger/decide.js';
import { platformSwitches, readPlatform } from '../ledger/platform.js';
import { ConfigError } from '../platform/errors.js';
import { transaction, type Pool, type Queryable } from '../platform/postgres/pool.js';

/** Whether the ledger has no state. All other rows belong to one of these. */
const isNew = async (postgres: Queryable): Promise<boolean> => {
  const { rows } = await postgres.query(
    `SELECT FROM ledger.platform WHERE sequence = 0
       AND NOT EXISTS (SELECT FROM ledger.api_keys) AND NOT EXISTS (SELECT FROM ledger.links)
       AND NOT EXISTS (SELECT FROM ledger.domains) AND NOT EXISTS (SELECT FROM ledger.alias_overrides)`,
  );
  return rows.length > 0;
};

/** On a new installation, every process may start before the API that chooses. @throws ConfigError */
export const requireCodesCase = async (postgres: Queryable, configured: Config['codesCase']) => {
  const { caseInsensitive } = await readPlatform(postgres);
  const chosen = caseInsensitive ? 'insensitive' : 'sensitive';
  if (chosen === configured || (!caseInsensitive && (await isNew(postgres)))) return;
  throw new ConfigError(
    `CODES_CASE is ${configured}, but the first start of this installation chose ${chosen}, which cannot change`,
  );
};

/** Makes the codes of the default domain case-insensitive, if the installation is new. */
export const chooseInsensitive = (pool: Pool, outbox: Outbox): Promise<void> =>
  transaction(pool, async (tx) => {
    // APIs that start concurrently must not create the first key meanwhile.
    await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.firstKey]);
    if (!(await isNew(tx))) return;
    const metadata = { actor: ownActors.system, requestId: 'first-start' };
    const choice = { type: 'SwitchPlatform', data: { caseInsensitive: true }, metadata } as const;
    const command = { ...choice, subject: platformSubject };
    await decideOneIn(tx, outbox, platformSwitches, platformDecider, command);
  });
