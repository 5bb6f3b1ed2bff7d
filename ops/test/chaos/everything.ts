import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { checkPromises } from './check.js';
import type { LoadKeys } from './load.js';
import { checkLog, checkSettledLog } from './log-check.js';
import type { LogCopy } from './log-copy.js';
import type { ReadOn } from './log-sources.js';
import type { Promises } from './promises.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

/** What is checked, against what. */
export interface Checked {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly log: LogCopy;
  readonly readOn: ReadOn;
}

/** Runs `work` on the PostgreSQL that runs in this data directory now. */
export const withPool = async (
  dataDir: string,
  work: (pool: Pool) => Promise<void>,
): Promise<void> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('The embedded PostgreSQL is not running');
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'chaos', max: 2, patient: true, logger });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
};

/** Everything that was promised, of a product that is well and under no load. */
export const checkEverything = async (checked: Checked): Promise<void> => {
  const { target, keys, promises, random } = checked;
  await checkPromises(target, keys, promises, random);
  await withPool(target.dataDir, async (pool) => {
    await checkLog({ ...checked, pool });
    await checkSettledLog({ ...checked, pool, keyId: keys.pro.id });
  });
};
