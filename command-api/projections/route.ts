import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
import { projectionWork, type ProjectionWork } from '../../schemas/events/catalogue.js';
import type { ProjectionsResponse } from '../../schemas/http/projections.js';
import { recordProjectionWork } from './handler.js';
import { failure, json } from '../http/reply.js';
import type { AdminRoutes } from '../http/operator-requests.js';

/** Milliseconds that an answer waits for the end of the work, and for the log. */
const endsWithinMs = 1_200;

/** The projections: how far they are, and what operators have done to them. */
export const projectionRoutes: AdminRoutes = ({ projections, delivery, ...ledger }) => {
  const worksOn = (work: ProjectionWork): ReturnType<AdminRoutes>[number] => ({
    method: 'POST',
    path: `/projections/:name/${work}`,
    handler: async (_ctx, { actor }, parameter) => {
      const projection = parameter('name');
      if (!projections.names.includes(projection)) return failure(404, 'Projection not found');
      const busyBefore = projections.busy();
      if (busyBefore !== null) return failure(409, busyBefore);
      const outboxPosition = await recordProjectionWork(ledger, { projection, work }, actor);
      const busySince = projections.busy();
      if (busySince !== null) return failure(409, busySince);
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
