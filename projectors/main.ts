import type { EventLog } from '../ops/platform/event-log/port.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import { projections } from './projections.js';
import { requireKnownCheckpoints } from './runtime/checkpoints.js';
import type { ProjectionName } from './runtime/names.js';
import { startProjection } from './runtime/start.js';
import type { ProjectionStatus } from './runtime/status.js';
import { projectionStatus } from './status.js';

export { openArchive } from './archive/open.js';
export { projections } from './projections.js';
export { appliedThrough, projectionStatus } from './status.js';

export interface Projectors {
  /** Never resolves; rejects with what no retry can mend, such as `ForeignPosition`. */
  readonly failed: Promise<never>;
  status(): Promise<readonly ProjectionStatus[]>;
  /** By projection: the age of the oldest event that it was given here and has not applied yet. */
  secondsBehind(): ReadonlyMap<ProjectionName, number>;
  /** Resolves when no batch is being applied and none will be. */
  stop(): Promise<void>;
}

/**
 * Keeps every projection up to date with the log.
 *
 * @throws ForeignPosition when a projection was made from another log, or the log was cut
 */
export const startProjectors = async (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}): Promise<Projectors> => {
  const { pool, log } = deps;
  for (const projection of projections) await requireKnownCheckpoints(pool, log, projection);
  const running = projections.map((projection) => ({
    name: projection.name,
    ...startProjection({ ...deps, projection }),
  }));

  const failed = new Promise<never>((_, reject) => {
    for (const { done } of running) done.catch(reject);
  });
  // The subscription has logged it. Who does not listen learns of it by the lag.
  failed.catch(() => undefined);

  return {
    failed,
    status: () => projectionStatus(pool, log),
    secondsBehind: () => new Map(running.map((one) => [one.name, one.secondsBehind()])),
    async stop() {
      await Promise.all(running.map((subscription) => subscription.stop()));
    },
  };
};
