import { z } from 'zod';

/** GET /health/ready, on every listener. */
export const healthResponse = z.object({
  status: z.enum(['pass', 'fail']),
  /** By name. The code is an error's, such as `ECONNREFUSED`, or `TIMEOUT`. */
  dependencies: z.record(
    z.string(),
    z.object({ state: z.enum(['up', 'down']), code: z.string().exactOptional() }),
  ),
  projections: z
    .array(
      z.object({
        name: z.string(),
        /** Records of the log that it has not folded yet; `null` while that cannot be told. */
        lag: z.int().nullable(),
        deadLetters: z.int(),
        parked: z.int(),
      }),
    )
    .readonly(),
  /** Visits that wait in the edge's spool. */
  spool: z.object({ events: z.int(), bytes: z.int() }).nullable(),
});
export type HealthResponse = Readonly<z.infer<typeof healthResponse>>;
