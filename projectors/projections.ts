import { history } from './history/projection.js';
import { quotas } from './quotas/projection.js';
import { redirects } from './redirects/projection.js';
import type { Projection } from './runtime/projection.js';
import { stats } from './stats/projection.js';

/** Every projection there is. */
export const projections: readonly Projection[] = [redirects, quotas, stats, history];
