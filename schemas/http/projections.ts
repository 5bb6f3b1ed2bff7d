import { z } from 'zod';
import { named } from '../components.js';
import { projectionWork } from '../events/catalogue.js';
import { timestamp } from '../events/envelope.js';
import { projectionHealth } from './health.js';
import { call, changed, found, type OperatorRows } from './route.js';

/** An operator's work on a projection, as the process that runs it reports it. */
const projectionWorkResponse = named('ProjectionWork', {
  work: projectionWork,
  actor: z.string().describe('The operator who requested it.'),
  startedAt: timestamp.describe('When the process began, UTC.'),
  endedAt: timestamp.nullable().describe('`null` while it is running.'),
  /** The result of successful work. `remaining`: events that are still set aside, or that the archive reads again. */
  outcome: z
    .object({ applied: z.int().min(0), repeats: z.int().min(0), remaining: z.int().min(0) })
    .nullable(),
  error: z.string().nullable().describe('Why it failed; otherwise `null`.'),
});
export type ProjectionWorkResponse = z.infer<typeof projectionWorkResponse>;

const projectionsResponse = named('ProjectionPage', {
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

/** Operators' calls on projections. */
export const projectionRoutes = {
  listProjections: call('GET /projections', 'List the projections and the archive with their lag', {
    returns: found(projectionsResponse),
  }),
  redriveProjection: call(
    'POST /projections/:name/redrive',
    'Retry the dead letters of a projection or of the archive',
    { errors: [409], returns: changed(projectionWorkResponse) },
  ),
  rebuildProjection: call(
    'POST /projections/:name/rebuild',
    'Rebuild a projection, or complete the archive, from the log',
    { errors: [409], returns: changed(projectionWorkResponse) },
  ),
  rollBackProjection: call(
    'POST /projections/:name/rollback',
    'Restore the projection from before the last rebuild',
    { errors: [409], returns: changed(projectionWorkResponse) },
  ),
} satisfies OperatorRows;
