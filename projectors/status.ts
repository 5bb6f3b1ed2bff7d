import type { EventLog } from '../ops/platform/event-log/port.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import { projections } from './projections.js';
import { statusOf, type ProjectionStatus } from './runtime/status.js';

/** How far each projection is behind the log, in records, and what it has set aside. */
export const projectionStatus = (pool: Pool, log: EventLog): Promise<readonly ProjectionStatus[]> =>
  Promise.all(projections.map((projection) => statusOf(pool, log, projection)));
