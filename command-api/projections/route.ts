import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
import type { ProjectionWork } from '../../schemas/events/catalogue.js';
import type { ProjectionsResponse } from '../../schemas/http/projections.js';
import { recordProjectionWork } from './handler.js';
import { failure, json } from '../http/reply.js';
import type { AdminHandlers, OperatorHandler } from '../http/operator-requests.js';

type WorkOperation = 'redriveProjection' | 'rebuildProjection' | 'rollBackProjection';

/** How long a response waits for the end of the work, and for the log (ms). */
const endsWithinMs = 1_200;

export const projectionHandlers = (({ projections, delivery, ...ledger }) => {
  const worksOn =
    (work: ProjectionWork): OperatorHandler<WorkOperation> =>
    async ({ state: { actor }, parameter }) => {
      const projection = parameter('name');
      if (!projections.names.includes(projection)) return failure(404, 'Projection not found');
      const busyReason = projections.busy();
      if (busyReason !== null) return failure(409, busyReason);
      const outboxPosition = await recordProjectionWork(ledger, { projection, work }, actor);
      const newReason = projections.busy();
      if (newReason !== null) return failure(409, newReason);
      const { ended, now } = projections.begin(projection, work, actor.actor);
      const [isLogged] = await Promise.all([
        delivery.published(outboxPosition, endsWithinMs),
        endsWithin(ended, endsWithinMs),
      ]);
      const body = now();
      if (body.error !== null) return failure(409, body.error);
      return json(isLogged && body.endedAt !== null ? 200 : 202, body);
    };

  return {
    async listProjections() {
      const body: ProjectionsResponse = { projections: [...(await projections.status())] };
      return json(200, body);
    },
    redriveProjection: worksOn('redrive'),
    rebuildProjection: worksOn('rebuild'),
    rollBackProjection: worksOn('rollback'),
  };
}) satisfies AdminHandlers;
