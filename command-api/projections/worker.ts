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
