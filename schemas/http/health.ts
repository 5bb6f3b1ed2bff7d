import { z } from 'zod';

/** GET /health, on every listener: the process lives. */
export const livenessResponse = z.object({ status: z.literal('pass') });
export type LivenessResponse = z.infer<typeof livenessResponse>;

/** How far a projection is behind the log, and what it has set aside. */
export const projectionHealth = z.object({
  name: z.string(),
  lag: z
    .int()
    .nullable()
    .describe('Records of the log that it has not folded yet; `null` while that is unknown.'),
  deadLetters: z.int(),
  parked: z.int(),
});

/** GET /health/ready, on every listener. */
export const healthResponse = z.object({
  status: z.enum(['pass', 'fail']),
  /** By name. */
  dependencies: z.record(
    z.string(),
    z.object({
      state: z.enum(['up', 'down']),
      code: z
        .string()
        .exactOptional()
        .describe('The code of an error, such as `ECONNREFUSED` or `25006`, or `TIMEOUT`.'),
      detail: z.string().exactOptional().describe('The fault, such as `postgres is read-only`.'),
    }),
  ),
  projections: z.array(projectionHealth).readonly(),
  spool: z
    .object({
      events: z.int(),
      bytes: z.int(),
      leftOver: z
        .object({ spools: z.int(), bytes: z.int() })
        .describe(
          'Spools of processes that are gone, as far as no other process has adopted them.',
        ),
      setAside: z
        .object({ files: z.int(), bytes: z.int() })
        .describe('Damaged files of spools, whose visits are not in the log.'),
    })
    .nullable()
    .describe("Visits that wait in the edge's spools; `null` where this process has none."),
  missingEvents: z
    .array(
      z.object({
        origin: z
          .enum(['subject', 'spool'])
          .describe('Whose sequence lacks them: a subject of the ledger, or the spool of an edge.'),
        topic: z.string(),
        events: z.int(),
      }),
    )
    .readonly()
    .nullable()
    .describe('Events that never reached the log, by topic; `null` while that is unknown.'),
  compaction: z
    .object({
      waiting: z
        .int()
        .describe('Visits and events of links that are not compacted yet, as of the last check.'),
    })
    .nullable()
    .describe('`null` where this process does not compact the log.'),
});
export type HealthResponse = Readonly<z.infer<typeof healthResponse>>;
