import type { DurationHistogram, Durations } from './durations.js';

/** The methods with a label of their own; clients may send some thirty others. */
const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

/** Records the answered requests of one listener. */
export interface RequestRecorder {
  /**
   * `route` is a pattern such as `/:shortCode`, or `other`; never a path that a client can choose.
   * `startedAt` is of `performance.now()`.
   */
  record(route: string, method: string | undefined, status: number, startedAt: number): void;
}

/** On the edge's hot path: two look-ups in maps, and no text is made. */
export const createRequestRecorder = (
  histogram: DurationHistogram,
  listener: string,
): RequestRecorder => {
  const routes = new Map<string, Map<string, Map<number, Durations>>>();

  const childOf = (route: string, method: string, status: number): Durations => {
    let methods = routes.get(route);
    if (!methods) {
      methods = new Map<string, Map<number, Durations>>();
      routes.set(route, methods);
    }
    let statuses = methods.get(method);
    if (!statuses) {
      statuses = new Map<number, Durations>();
      methods.set(method, statuses);
    }
    let child = statuses.get(status);
    if (!child) {
      child = histogram.child({ listener, route, method, status: String(status) });
      statuses.set(status, child);
    }
    return child;
  };

  return {
    record(route, method, status, startedAt) {
      const known = method !== undefined && knownMethods.has(method) ? method : 'other';
      childOf(route, known, status).observeSince(startedAt);
    },
  };
};
