import { projections } from '../../../projectors/projections.js';
import { liveSchema, type Projection } from '../../../projectors/runtime/projection.js';
import { rebuild } from '../../../projectors/runtime/rebuild.js';
import { dump } from '../../../projectors/testing/tables.js';
import { withDatabase, type CommandDatabase } from '../../tools/cli/database.js';
import { readConfig } from '../../config/config.js';

/** A new event during the rebuild invalidates the comparison: calls are metered at the end of a minute. */
const attempts = 5;

const rebuildOne = async (
  database: CommandDatabase,
  projection: Projection,
): Promise<readonly string[]> => {
  const schema = liveSchema(projection.name);
  for (let attempt = 1; ; attempt += 1) {
    const before = await dump(database.pool, schema);
    await rebuild({ ...database, projection });
    const after = await dump(database.pool, schema);
    const differs = (table: string): boolean =>
      JSON.stringify(after[table]) !== JSON.stringify(before[table]);
    if (differs('checkpoints') && attempt < attempts) continue;
    return Object.keys(before)
      .filter(differs)
      .map((table) => `${schema}.${table} differs after its rebuild`);
  }
};

/**
 * Rebuilds every projection of an idle product from its log. The environment has DATA_DIR, and KAFKA_BROKERS if there
 * is no stack in DATA_DIR.
 *
 * @returns the tables that differ after the rebuild
 */
export const rebuildAll = (env: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  withDatabase(readConfig(env), async (database) => {
    const different: string[] = [];
    for (const projection of projections) {
      different.push(...(await rebuildOne(database, projection)));
    }
    return different;
  });
