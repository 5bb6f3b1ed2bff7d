import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { fixture } from '../../../ops/test/support/fixture.js';
import { temporaryDir } from '../../../ops/test/support/process.js';
import { shipHere } from '../../shipping/shipping.js';
import { openSpool, type Spool, type SpoolOptions } from '../spool.js';
import { FakeLog } from './harness.js';

const createBench = async () => {
  const dataDir = await temporaryDir();
  const root = join(dataDir, 'spool');
  const log = new FakeLog();
  const logLines: { level: number; msg: string; [field: string]: unknown }[] = [];
  const logger = pino(
    { level: 'debug' },
    { write: (line: string) => logLines.push(JSON.parse(line) as (typeof logLines)[0]) },
  );
  const spools: Spool[] = [];
  return {
    ...{ dataDir, root, log, logLines, logger },
    /** Opens a spool that ships to `log` by default. */
    async open({
      ship = log.ship,
      ...options
    }: Partial<Omit<SpoolOptions, 'root' | 'shipping'>> & {
      readonly ship?: FakeLog['ship'];
    } = {}) {
      const shipping = shipHere(ship);
      const defaults = { maxBytes: 1024 ** 3, fsync: false, logger, scanEveryMs: 50 };
      const spool = await openSpool({ root, shipping, ...defaults, ...options });
      spools.push(spool);
      return spool;
    },
    async close(): Promise<void> {
      await Promise.all(spools.map((spool) => spool.stop({ shipWithinMs: 0 })));
      await rm(dataDir, { recursive: true });
    },
  };
};

/** A data directory with the log, the spools and the log lines of a test. */
export const spoolFixture = () => fixture(createBench, (bench) => bench.close(), { per: 'test' });
