import { z } from 'zod';
import { responseParts } from '../components.js';
import { timestamp } from '../events/envelope.js';

/** GET /health, on every listener: the process is alive. */
export const livenessResponse = z.object({ status: z.literal('pass') });
export type LivenessResponse = z.infer<typeof livenessResponse>;

/** The lag of a projection, and the events that it could not apply. */
export const projectionHealth = z
  .object({
    name: z.string(),
    lag: z
      .int()
      .nullable()
      .describe('Records of the log that are not folded yet; `null` while unknown.'),
    deadLetters: z.int(),
    parked: z.int(),
  })
  .register(responseParts, { id: 'ProjectionHealth' });

/** GET /health/ready, on every listener. */
export const healthResponse = z.object({
  status: z
    .enum(['pass', 'fail', 'draining'])
    .describe('`draining`: the process still serves, and stops after `DRAIN_DELAY_MS`.'),
  /** By name. */
  dependencies: z.record(
    z.string(),
    z
      .object({
        state: z.enum(['up', 'down']),
        code: z
          .string()
          .exactOptional()
          .describe('The code of an error, such as `ECONNREFUSED` or `25006`, or `TIMEOUT`.'),
        detail: z.string().exactOptional().describe('The fault, such as `postgres is read-only`.'),
      })
      .register(responseParts, { id: 'DependencyHealth' }),
  ),
  projections: z.array(projectionHealth).readonly(),
  spool: z
    .object({
      events: z.int(),
      bytes: z.int(),
      leftOver: z
        .object({ spools: z.int(), bytes: z.int() })
        .register(responseParts, { id: 'LeftOverSpools' })
        .describe('Spools of ended processes that no other process has adopted.'),
      setAside: z
        .object({ files: z.int(), bytes: z.int() })
        .register(responseParts, { id: 'DamagedFiles' })
        .describe('Damaged files of spools, whose visits are not in the log.'),
    })
    .register(responseParts, { id: 'SpoolHealth' })
    .nullable()
    .describe("Visits in the edge's spools; `null` if this process has no edge."),
  missingEvents: z
    .array(
      z
        .object({
          origin: z
            .enum(['subject', 'spool'])
            .describe(
              'The origin of the sequence with the gap: a subject of the ledger, or the spool of an edge.',
            ),
          topic: z.string(),
          events: z.int(),
        })
        .register(responseParts, { id: 'MissingEvents' }),
    )
    .readonly()
    .nullable()
    .describe('Events missing from the log, by topic; `null` while unknown.'),
  maintenance: z
    .object({ since: timestamp })
    .register(responseParts, { id: 'Maintenance' })
    .nullable()
    .describe('While it lasts, `/v2` and all short links get 503; `null`: none, or unknown.'),
  compaction: z
    .object({
      waiting: z
        .int()
        .describe('Visits and events of links that were not compacted at the last check.'),
    })
    .register(responseParts, { id: 'CompactionHealth' })
    .nullable()
    .describe('`null` if this process does not compact the log.'),
});
export type HealthResponse = Readonly<z.infer<typeof healthResponse>>;
