import { history } from './history/projection.js';
import { quotas } from './quotas/projection.js';
import { redirects } from './links/projection.js';
import { projectionNames, type Projection, type ProjectionName } from './runtime/projection.js';
import { stats } from './statistics/projection.js';

/** See "Add a projection" in CONTRIBUTING.md. */
const byName: Readonly<Record<ProjectionName, Projection>> = { redirects, quotas, stats, history };

export const projections: readonly Projection[] = projectionNames.map((name) => byName[name]);
