import { startCompactor, type Compactor } from '../../projectors/log/compaction/compactor.js';
import { startDeliverer } from '../../projectors/webhooks/deliverer.js';
import { openFeed } from '../feed/feed.js';
import { createSender } from '../webhooks/sender.js';
import { startProjectors } from '../../projectors/main.js';
import type { ChainBroken } from '../../projectors/log/seals/recomputed-chain.js';
import { startSealing } from '../../projectors/log/seals/sealing.js';
import { signerOfProcess } from '../../projectors/log/seals/seal-key.js';
import { firstFailure } from '../platform/concurrency/deferred.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import type { Database } from './connections.js';
import type { OpenedLog } from './event-log.js';
import { startInOrder, type Stoppable } from '../platform/process/lifecycle.js';

/** Imported only if configured, because the client of EventStoreDB takes 0.5 s to load. */
const archiveModule = () => import('../../projectors/log/archive/archive.js');

export type ProjectorConfig = Pick<
  Config,
  'dnsServers' | 'eventStoreUrl' | 'kafka' | 'sealKeyFile' | 'webhooks'
>;

export interface ProjectorService extends Stoppable {
  /** Returns the lag of each projection. Never rejects. */
  secondsBehind(): Promise<ReadonlyMap<string, number>>;
  /**
   * The checks of the parts that run in this process, by name. `seals` rejects with `ChainBroken` if a partition is no
   * longer sealed, `webhooks` while they are not delivered, `archive` while EventStoreDB is unavailable.
   */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** The progress of the compaction; `null` if this process does not compact. */
  compaction(): Promise<ReturnType<Compactor['progress']>>;
  /** Never resolves. Rejects if the projectors, the sealing or the archive must end. */
  readonly failed: Promise<never>;
}

/** Starts the projections, the delivery of webhooks, the sealing and compaction of the log, and a configured archive. */
export const startProjectorService = (deps: {
  readonly config: ProjectorConfig;
  readonly database: Database;
  readonly eventLog: OpenedLog;
  /** Created if SEAL_KEY_FILE is unset; `null` if the projectors run as a separate service. */
  readonly ownSealKeyFile: string | null;
  readonly metrics: Gauges;
  readonly logger: Logger;
}): Promise<ProjectorService> =>
  startInOrder(deps.logger, async (onStop) => {
    const { config, database, eventLog, ownSealKeyFile, metrics, logger } = deps;
    const { log } = eventLog;
    await eventLog.untilAvailable();
    const pool = database.pool('projectors', 7, 'background');
    const projectors = await startProjectors({ pool, log, logger });
    onStop(() => projectors.stop());
    const failures = [projectors.failed];

    const keyFiles = { named: config.sealKeyFile, own: ownSealKeyFile };
    const signer = await signerOfProcess(keyFiles, { client: pool, logger });
    const sealing = signer && (await startSealing({ pool, log, logger, signer }));
    onStop(() => sealing?.stop());
    // Only sealed records are compacted: unsealed records could not be verified afterwards.
    const compactor =
      signer && config.kafka === null ? startCompactor({ pool, log, logger, signer }) : null;
    onStop(() => compactor?.stop());
    const brokenChains = (): ReadonlyMap<string, ChainBroken> =>
      new Map([...(sealing?.brokenChains() ?? []), ...(compactor?.brokenChains() ?? [])]);
    const checkSeals = (): Promise<void> => {
      const [broken] = brokenChains().values();
      return broken ? Promise.reject(broken) : Promise.resolve();
    };
    if (sealing) {
      failures.push(sealing.failed);
      metrics.gauge({
        name: 'linklog_seals_broken_chains',
        help: 'Partitions that differ from their seals and are no longer sealed or compacted',
        read: () => brokenChains().size,
      });
    }
    if (compactor) {
      metrics.gauge({
        name: 'linklog_log_waiting_for_compaction_events',
        help: 'Visits and events of links in the embedded log that are not compacted yet, as of the last check',
        read: () => compactor.progress()?.waiting ?? [],
      });
    }

    const startWebhooks = () => {
      const webhookPool = database.pool('webhooks', 6, 'background');
      const feed = openFeed({ pool: webhookPool, log, logger });
      onStop(() => feed.stop());
      const { networks } = config.webhooks;
      const sender = createSender({ dnsServers: config.dnsServers, networks });
      const { outbox } = eventLog;
      return startDeliverer({ pool: webhookPool, outbox, feed, sender, metrics, logger });
    };
    const deliverer = config.webhooks.deliver ? startWebhooks() : null;
    onStop(() => deliverer?.stop());

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
      secondsBehind: () => Promise.resolve(projectors.secondsBehind()),
      checks: {
        ...(sealing && { seals: checkSeals }),
        ...(deliverer && { webhooks: () => deliverer.check() }),
        ...(archive && { archive: () => archive.check() }),
      },
      compaction: () => Promise.resolve(compactor?.progress() ?? null),
      failed: firstFailure(failures),
    };
  });
