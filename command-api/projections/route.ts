import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
import { projectionWork, type ProjectionWork } from '../../schemas/events/catalogue.js';
import type { ProjectionsResponse } from '../../schemas/http/projections.js';
import { recordProjectionWork } from './handler.js';
import { failure, json } from '../http/reply.js';
import type { AdminRoutes } from '../http/operator-requests.js';

/** How long a response waits for the end of the work, and for the log (ms). */
const endsWithinMs = 1_200;

/** The state of the projections, and operators' work on them. */
export const projectionRoutes: AdminRoutes = ({ projections, delivery, ...ledger }) => {
  const worksOn = (work: ProjectionWork): ReturnType<AdminRoutes>[number] => ({
    method: 'POST',
    path: `/projections/:name/${work}`,
    handler: async (_ctx, { actor }, parameter) => {
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
    },
  });

  return [
    {
      method: 'GET',
      path: '/projections',
      handler: async () => {
        const body: ProjectionsResponse = { projections: [...(await projections.status())] };
        return json(200, body);
      },
    },
    ...projectionWork.options.map(worksOn),
  ];
};
