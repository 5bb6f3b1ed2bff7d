import { z } from 'zod';
import { named } from '../components.js';
import { timestamp } from '../events/envelope.js';

/** GET /health, on every listener: the process is alive. */
export const livenessResponse = named('Liveness', { status: z.literal('pass') });
export type LivenessResponse = z.infer<typeof livenessResponse>;

/** The lag of a projection, and the events that it could not apply. */
export const projectionHealth = named('ProjectionHealth', {
  name: z.string(),
  lag: z
    .int()
    .nullable()
    .describe('Records of the log that are not folded yet; `null` while unknown.'),
  deadLetters: z.int(),
  parked: z.int(),
});

/** GET /health/ready, on every listener. */
export const healthResponse = named('Readiness', {
  status: z
    .enum(['pass', 'fail', 'draining'])
    .describe('`draining`: the process still serves, and stops after `DRAIN_DELAY_MS`.'),
  /** The dependencies by name. */
  dependencies: z.record(
    z.string(),
    named('DependencyHealth', {
      state: z.enum(['up', 'down']),
      code: z
        .string()
        .exactOptional()
        .describe('The code of an error, such as `ECONNREFUSED` or `25006`, or `TIMEOUT`.'),
      detail: z.string().exactOptional().describe('The fault, such as `postgres is read-only`.'),
    }),
  ),
  projections: z.array(projectionHealth).readonly(),
  spool: named('SpoolHealth', {
    events: z.int(),
    bytes: z.int(),
    leftOver: named('LeftOverSpools', { spools: z.int(), bytes: z.int() }).describe(
      'Spools of ended processes that no other process has adopted.',
    ),
    setAside: named('DamagedFiles', { files: z.int(), bytes: z.int() }).describe(
      'Damaged files of spools, whose visits are not in the log.',
    ),
  })
    .nullable()
    .describe("Visits in the edge's spools; `null` if this process has no edge."),
  missingEvents: z
    .array(
      named('MissingEvents', {
        origin: z
          .enum(['subject', 'spool'])
          .describe(
            'The origin of the sequence with the gap: a subject of the ledger, or the spool of an edge.',
          ),
        topic: z.string(),
        events: z.int(),
      }),
    )
    .readonly()
    .nullable()
    .describe('Events missing from the log, by topic; `null` while unknown.'),
  maintenance: named('Maintenance', { since: timestamp })
    .nullable()
    .describe('While it lasts, `/v2` and all short links get 503; `null`: none, or unknown.'),
  compaction: named('CompactionHealth', {
    waiting: z
      .int()
      .describe('Visits and events of links that were not compacted at the last check.'),
  })
    .nullable()
    .describe('`null` if this process does not compact the log.'),
});
export type HealthResponse = Readonly<z.infer<typeof healthResponse>>;
