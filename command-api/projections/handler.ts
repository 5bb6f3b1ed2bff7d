import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches } from '../../ops/ledger/platform.js';
import type { Outbox, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import { platformSubject } from '../../schemas/folds/platform.js';
import { projectionWorkDecider, type RequestProjectionWork } from './command.js';
import type { ProjectionWork } from '../../schemas/events/catalogue.js';
import type {
  ProjectionsResponse,
  ProjectionWorkResponse,
} from '../../schemas/http/projections.js';

/** Runs work on projections, one at a time. */
export interface ProjectionWorker {
  readonly names: readonly string[];
  readonly status: () => Promise<ProjectionsResponse['projections']>;
  /** Why no work can start now; `null` if it can. */
  readonly busy: () => string | null;
  /** Starts the work. */
  readonly begin: (
    projection: string,
    work: ProjectionWork,
    actor: string,
  ) => {
    /** Never rejects: `now` returns the outcome. */
    readonly ended: Promise<void>;
    readonly now: () => ProjectionWorkResponse;
  };
}

/** Records a request for work on a projection, before the work starts. */
export const recordProjectionWork = async (
  ledger: { readonly pool: Pool; readonly outbox: Outbox },
  data: RequestProjectionWork['data'],
  metadata: Actor,
): Promise<OutboxPosition> => {
  const { outboxPosition } = await decideOne(ledger, platformSwitches, projectionWorkDecider, {
    type: 'RequestProjectionWork',
    subject: platformSubject,
    data,
    metadata,
  });
  return outboxPosition;
};
