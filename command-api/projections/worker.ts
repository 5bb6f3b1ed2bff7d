import type { ProjectionWork } from '../../schemas/events/catalogue.js';
import type {
  ProjectionsResponse,
  ProjectionWorkResponse,
} from '../../schemas/http/projections.js';

/** Does one thing to one projection at a time. */
export interface ProjectionWorker {
  readonly names: readonly string[];
  readonly status: () => Promise<ProjectionsResponse['projections']>;
  /** Why nothing can be begun now, for a person; `null`: something can be. */
  readonly busy: () => string | null;
  /** Begins the work, and does not wait for its end. */
  readonly begin: (
    projection: string,
    work: ProjectionWork,
    actor: string,
  ) => {
    /** Never rejects: `now` tells how it ended. */
    readonly ended: Promise<void>;
    readonly now: () => ProjectionWorkResponse;
  };
}
