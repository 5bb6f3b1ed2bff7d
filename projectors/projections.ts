import { history } from './history/projection.js';
import { redirects } from './links/projection.js';
import { quotas } from './quotas/projection.js';
import type { Projection } from './runtime/projection.js';
import { stats } from './statistics/projection.js';

/** Append new ones, because the index of a projection is the number of its advisory locks. */
export const projections: readonly Projection[] = [redirects, quotas, stats, history];

export const projectionNames: readonly string[] = projections.map(({ name }) => name);

/** The second number of a projection's advisory locks. */
export const lockNumber = (name: string): number => projectionNames.indexOf(name);
