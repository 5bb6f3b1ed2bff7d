import { projections } from '../../projectors/main.js';
import { liveSchema } from '../../projectors/runtime/names.js';
import { rebuild } from '../../projectors/runtime/rebuild.js';
import { dump } from '../../projectors/testing/tables.js';
import { runningPostgresUrl } from '../embedded/index.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import { createLogger } from '../platform/logging.js';
import { createPool } from '../platform/postgres/pool.js';
import type { Product } from '../testing/product.js';

/** Rebuilds every projection of a quiet product from its log; names the tables that differ then. */
export const rebuildAll = async (product: Product): Promise<readonly string[]> => {
  const logger = createLogger('silent');
  const url = await runningPostgresUrl(product.dataDir);
  if (url === null) throw new Error('The embedded PostgreSQL is not running');
  const pool = createPool({ url, name: 'chaos', max: 6, logger });
  const { log } = await openPostgresLog({ pool, url, logger });
  try {
    const different: string[] = [];
    for (const projection of projections) {
      const schema = liveSchema(projection.name);
      const before = await dump(pool, schema);
      await rebuild({ pool, log, logger, projection });
      const after = await dump(pool, schema);
      for (const [table, rows] of Object.entries(before)) {
        if (JSON.stringify(after[table]) !== JSON.stringify(rows)) {
          different.push(`${schema}.${table} differs after its rebuild`);
        }
      }
    }
    return different;
  } finally {
    await log.close();
    await pool.end();
  }
};
