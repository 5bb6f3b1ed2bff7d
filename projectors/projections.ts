import { history } from './history/projection.js';
import { quotas } from './quotas/projection.js';
import { redirects } from './redirects/projection.js';
import type { ProjectionName } from './runtime/names.js';
import type { Projection } from './runtime/projection.js';
import { stats } from './stats/projection.js';

const byName = { redirects, quotas, stats, history } satisfies Record<ProjectionName, Projection>;

/** Every projection there is. */
export const projections: readonly Projection[] = Object.values(byName);
