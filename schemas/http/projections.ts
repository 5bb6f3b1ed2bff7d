import { z } from 'zod';
import { projectionWork } from '../events/catalogue.js';
import { timestamp } from '../events/envelope.js';
import { projectionHealth } from './health.js';

/** Something that an operator had done to a projection, as the process that does it tells it. */
export const projectionWorkResponse = z.object({
  work: projectionWork,
  actor: z.string(),
  startedAt: timestamp,
  /** `null`: it goes on. */
  endedAt: timestamp.nullable(),
  /** Once it ended well. Of a redrive, `remaining` counts what is a dead letter or parked still. */
  outcome: z
    .object({ applied: z.int().min(0), repeats: z.int().min(0), remaining: z.int().min(0) })
    .nullable(),
  /** Why it failed. */
  error: z.string().nullable(),
});
export type ProjectionWorkResponse = z.infer<typeof projectionWorkResponse>;

/** GET /admin/projections */
export const projectionsResponse = z.object({
  projections: z.array(
    projectionHealth.extend({
      /**
       * A rebuild or rollback, whoever does it. Records applied, and records there are; `null` where another
       * process does it.
       */
      running: z
        .object({ done: z.int().min(0).nullable(), total: z.int().min(0).nullable() })
        .nullable(),
      /** What was begun last through this process. */
      last: projectionWorkResponse.nullable(),
    }),
  ),
});
export type ProjectionsResponse = z.infer<typeof projectionsResponse>;
