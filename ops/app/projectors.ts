import { startProjectors } from '../../projectors/main.js';
import { startSealing } from '../../projectors/seals/sealing.js';
import { signerOfProcess } from '../../projectors/seals/seal-key.js';
import { firstFailure } from '../platform/concurrency/deferred.js';
import type { Config } from '../platform/config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Metrics } from '../platform/metrics/metrics.js';
import type { Database } from './database.js';
import type { OpenedLog } from './event-log.js';
import { startInOrder } from './start-in-order.js';

/** Loaded only if configured: the client of EventStoreDB takes half a second. */
const archiveModule = () => import('../../projectors/archive/archive.js');

/** Starts the projections, the sealing of the log, and the archive where one is configured. */
export const startProjectorService = (deps: {
  readonly config: Pick<Config, 'eventStoreUrl' | 'sealKeyFile'>;
  readonly database: Database;
  readonly eventLog: OpenedLog;
  /** Made where no SEAL_KEY_FILE is set; `null` where the projectors run apart from the others. */
  readonly ownSealKeyFile: string | null;
  readonly metrics: Metrics;
  readonly logger: Logger;
}) =>
  startInOrder(deps.logger, async (onStop) => {
    const { config, database, eventLog, ownSealKeyFile, metrics, logger } = deps;
    const { log } = eventLog;
    await eventLog.untilAnswering();
    const pool = database.pool('projectors', 6, 'background');
    const projectors = await startProjectors({ pool, log, logger });
    onStop(() => projectors.stop());
    const failures = [projectors.failed];

    const keyFiles = { named: config.sealKeyFile, own: ownSealKeyFile };
    const signer = await signerOfProcess(keyFiles, { client: pool, logger });
    const sealing = signer && (await startSealing({ pool, log, logger, signer }));
    if (sealing) {
      onStop(() => sealing.stop());
      failures.push(sealing.failed);
      metrics.gauge({
        name: 'linklog_seals_broken_chains',
        help: 'Partitions that are not signed any more: they do not continue what was sealed',
        read: () => sealing.brokenChains().length,
      });
    }

    const { eventStoreUrl: url } = config;
    const archive =
      url === null
        ? null
        : (await archiveModule()).openArchive({
            url,
            pool: database.pool('archive', 2, 'background'),
            log,
            metrics,
            logger,
          });
    if (archive) {
      onStop(() => archive.stop());
      failures.push(archive.failed);
    }
    return {
      secondsBehind: () => projectors.secondsBehind(),
      /** Rejects with `ChainBroken` where a partition is not sealed any more; `null`: none is. */
      checkSeals: sealing && (() => sealing.check()),
      /** Rejects while EventStoreDB is away; `null` where there is no archive. */
      checkArchive: archive && (() => archive.check()),
      /** Never resolves; rejects when the projectors, the sealing or the archive cannot go on. */
      failed: firstFailure(failures),
    };
  });
