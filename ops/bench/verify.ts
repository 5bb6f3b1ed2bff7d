import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { catchUpProjections } from '../../projectors/catch-up.js';
import { startEmbeddedPostgres } from '../embedded/index.js';
import { rebuildLedger } from '../ledger-rebuild/rebuild.js';
import { migrate } from '../migrations/migrate.js';
import { openPostgresLog } from '../platform/event-log/postgres-log.js';
import { createLogger } from '../platform/logging.js';
import { createPool } from '../platform/postgres/pool.js';
import { temporaryDir } from '../testing/product.js';
import { measured } from './backup.js';
import { fillLog } from './long-log.js';

const logger = createLogger('silent');
const defaultEvents = 200_000;
/** Of a log, so many are visits for each link. */
const visitsOfLink = 9;

/** `node dist/ops/bench/verify.js [EVENTS]`: events a second, and the most memory that the command had. */
const run = async (events: number): Promise<void> => {
  const links = Math.ceil(events / (visitsOfLink + 1));
  const dataDir = await temporaryDir();
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, logger });
    const pool = createPool({ url: postgres.url, name: 'bench', max: 4, patient: true, logger });
    await migrate(pool);
    const { log } = await openPostgresLog({ pool, url: postgres.url, logger });
    await fillLog(log, links, events - links);
    await rebuildLedger({ pool, log });
    await catchUpProjections({ pool, log, logger });
    const verified = await measured(['audit', 'verify'], { DATA_DIR: dataDir });
    await log.close();
    await pool.end();
    await postgres.stop();
    process.stdout.write(`${JSON.stringify(verified, null, 2)}\n`);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? defaultEvents));
}
