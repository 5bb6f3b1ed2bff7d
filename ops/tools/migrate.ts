import { grantRights, migrate } from '../migrations/migrate.js';
import { ConfigError } from '../platform/errors.js';
import { readConfig } from '../config/config.js';
import { createLogger, logWarnings } from '../platform/logging.js';
import { namingDatabaseUrl } from '../platform/postgres/connection-fault.js';
import { createPool } from '../platform/postgres/pool.js';
import { runToEnd } from '../platform/process/lifecycle.js';

/**
 * `node dist/ops/tools/migrate.js`: migrates the database of DATABASE_URL, whose user must own the tables, and grants
 * rights to the services' roles. Needed only if the services' users may not change tables.
 */
runToEnd(async () => {
  const { databaseUrl: url, logLevel } = readConfig();
  if (url === null) throw new ConfigError('DATABASE_URL must be set');
  const logger = createLogger(logLevel);
  logWarnings(logger);
  const pool = createPool({ url, name: 'migrate', max: 2, deadlines: 'patient', logger });
  try {
    await migrate(pool);
    await grantRights(pool);
    logger.info('the database is migrated');
  } catch (error) {
    throw namingDatabaseUrl(error);
  } finally {
    await pool.end();
  }
});
