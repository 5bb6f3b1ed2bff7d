import type { EventLog } from '../ops/platform/event-log/port.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import { projections } from './projections.js';
import { createBatchHandler } from './runtime/batch.js';
import { catchUp } from './runtime/catch-up.js';
import { liveSchema } from './runtime/names.js';
import { batchSize, concurrency, endsOf } from './runtime/rebuild.js';

/** Brings every projection to the log's end, where no projector runs: when it resolves, all is told. */
export const catchUpProjections = async (options: {
  /** Two of its connections are used. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> => {
  const { pool, log, logger, progress, signal } = options;
  const all = await Promise.all(
    projections.map(async (projection) => ({ projection, targets: await endsOf(log, projection) })),
  );
  const total = all.flatMap(({ targets }) => targets).reduce((sum, { to }) => sum + to, 0);
  let done = 0;
  for (const { projection, targets } of all) {
    const handle = createBatchHandler({ pool, log, logger, projection });
    const schema = liveSchema(projection.name);
    const onBatch = (outcome: Awaited<ReturnType<typeof handle>>): void => {
      const { applied, repeats, deadLetters, parked } = outcome;
      done += applied + repeats + deadLetters + parked;
      progress?.(done, total);
    };
    await catchUp({ pool, log, schema, handle, batchSize, concurrency, onBatch, signal }, targets);
  }
};
