import { z } from 'zod';
import { projectionWork } from '../events/catalogue.js';
import { timestamp } from '../events/envelope.js';
import { projectionHealth } from './health.js';

/** An operator's work on a projection, as the process that runs it reports it. */
export const projectionWorkResponse = z.object({
  work: projectionWork,
  actor: z.string(),
  startedAt: timestamp,
  /** `null` while it is running. */
  endedAt: timestamp.nullable(),
  /** The result of successful work. `remaining`: events that are still dead letters or parked after a redrive. */
  outcome: z
    .object({ applied: z.int().min(0), repeats: z.int().min(0), remaining: z.int().min(0) })
    .nullable(),
  error: z.string().nullable(),
});
export type ProjectionWorkResponse = z.infer<typeof projectionWorkResponse>;

/** GET /admin/projections */
export const projectionsResponse = z.object({
  projections: z.array(
    projectionHealth.extend({
      /** A running rebuild or rollback, with the applied and total records; `null`: in another process. */
      running: z
        .object({ done: z.int().min(0).nullable(), total: z.int().min(0).nullable() })
        .nullable(),
      /** The last work that this process started. */
      last: projectionWorkResponse.nullable(),
    }),
  ),
});
export type ProjectionsResponse = z.infer<typeof projectionsResponse>;
