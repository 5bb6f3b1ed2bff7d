import { z } from 'zod';
import { named } from '../components.js';
import { timestamp } from '../events/envelope.js';

/** GET /health, on every listener: the process is alive. */
export const livenessResponse = named('Liveness', {
  status: z.literal('pass').describe('Always `pass`: a process that responds is alive.'),
});
export type LivenessResponse = z.infer<typeof livenessResponse>;

const bytes = z.int().describe('Their size on disk, in bytes.');

/** The lag of a projection, and the events that it could not apply. */
export const projectionHealth = named('ProjectionHealth', {
  name: z.string().describe('Of the projection, as in the metrics.'),
  lag: z
    .int()
    .nullable()
    .describe('Records of the log that are not folded yet; `null` while unknown.'),
  deadLetters: z.int().describe('Events that it could not apply.'),
  parked: z.int().describe('Events that wait behind a dead letter of their subject.'),
});

const dependency = named('DependencyHealth', {
  state: z.enum(['up', 'down']).describe('`down`: the last check failed.'),
  code: z
    .string()
    .exactOptional()
    .describe('The code of an error, such as `ECONNREFUSED` or `25006`, or `TIMEOUT`.'),
  detail: z.string().exactOptional().describe('The fault, such as `postgres is read-only`.'),
});

/** GET /health/ready, on every listener. */
export const healthResponse = named('Readiness', {
  status: z
    .enum(['pass', 'fail', 'draining'])
    .describe('`draining`: the process still serves, and stops after `DRAIN_DELAY_MS`.'),
  dependencies: z.record(z.string(), dependency).describe('By name, such as `postgres`.'),
  projections: z.array(projectionHealth).readonly().describe('The tables that follow the log.'),
  spool: named('SpoolHealth', {
    events: z.int().describe('Visits that are not in the log yet.'),
    bytes,
    leftOver: named('LeftOverSpools', {
      spools: z.int().describe('Their number.'),
      bytes,
    }).describe('Spools of ended processes that no other process has adopted.'),
    setAside: named('DamagedFiles', { files: z.int().describe('Their number.'), bytes }).describe(
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
        topic: z.string().describe('The topic of the log.'),
        events: z.int().describe('How many are missing.'),
      }),
    )
    .readonly()
    .nullable()
    .describe('Events missing from the log, by topic; `null` while unknown.'),
  maintenance: named('Maintenance', { since: timestamp.describe('When it was switched on, UTC.') })
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
