import type { EventLog, Subscription } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { createBatchHandler } from './batch.js';
import { readCheckpoint } from './checkpoints.js';
import { liveSchema } from './names.js';
import type { Projection } from './projection.js';

/** Keeps a live projection up to date with the log, until it is stopped. */
export const startProjection = (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
}): Subscription => {
  const { pool, log, projection } = options;
  const handle = createBatchHandler(options);
  return log.subscribe({
    group: `projection-${projection.name}`,
    topics: projection.topics,
    position: (topic, partition) =>
      readCheckpoint(pool, liveSchema(projection.name), topic, partition),
    handle: async (batch) => {
      await handle(batch);
    },
  });
};
