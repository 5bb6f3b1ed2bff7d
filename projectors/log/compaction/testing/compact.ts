/** Compacts the log of a database until it is killed: `node compact.js URL KEY_FILE`. */
import { openTestLog } from '../../../../ops/test/support/node.js';
import { createLogger } from '../../../../ops/platform/logging.js';
import { createPool } from '../../../../ops/platform/postgres/pool.js';
import { openSealKey } from '../../seals/seal-key.js';
import { startCompactor } from '../compactor.js';

const [url = '', keyFile = ''] = process.argv.slice(2);
const logger = createLogger('silent');
const pool = createPool({ url, name: 'compaction', max: 4, logger });
const { log } = await openTestLog({ pool, url, logger });
const signer = await openSealKey(keyFile, pool);
startCompactor({
  pool,
  log,
  signer,
  logger,
  pace: { everyMs: 10, minRecords: 100, keepMs: 0 },
});
