import type { EventLog, Subscription } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { createBatchHandler } from './batch.js';
import { readCheckpoint } from './checkpoints.js';
import { liveSchema } from './names.js';
import type { Projection } from './projection.js';
import { LagTracker } from './lag-tracker.js';

export interface RunningProjection extends Subscription {
  /** The age of the oldest event that it was given and has not applied yet. */
  secondsBehind(): number;
}

/** Keeps a live projection up to date with the log, until it is stopped. */
export const startProjection = (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
}): RunningProjection => {
  const { pool, log, projection } = options;
  const handle = createBatchHandler(options);
  const lag = new LagTracker();
  const subscription = log.subscribe({
    group: `projection-${projection.name}`,
    topics: projection.topics,
    position: (topic, partition) =>
      readCheckpoint(pool, liveSchema(projection.name), topic, partition),
    handle: async (batch) => {
      await lag.applying(batch, () => handle(batch));
    },
  });
  return {
    done: subscription.done,
    stop: () => subscription.stop(),
    secondsBehind: () => lag.secondsBehind(Date.now()),
  };
};
