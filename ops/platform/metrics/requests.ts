import type { DurationHistogram, Durations } from './durations.js';

/** The methods with a label of their own; clients may send some thirty others. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Records the answered requests of one listener: on the edge's hot path, so no text is made. */
export const createRequestRecorder = (histogram: DurationHistogram, listener: string) => {
  /** By route; then by method and status, as one number. */
  const routes = new Map<string, Map<number, Durations>>();
  /** `route` is a pattern such as `/:shortCode`, or `other`; never a path that a client can choose. */
  const of = (route: string, method: string | undefined, status: number): Durations => {
    let ofRoute = routes.get(route);
    if (!ofRoute) routes.set(route, (ofRoute = new Map<number, Durations>()));
    const known = methods.indexOf(method ?? '');
    const series = known * 1_000 + status;
    let durations = ofRoute.get(series);
    if (!durations) {
      const labels = {
        listener,
        route,
        method: methods[known] ?? 'other',
        status: String(status),
      };
      ofRoute.set(series, (durations = histogram.child(labels)));
    }
    return durations;
  };
  return {
    of,
    /** `startedAt` is of `performance.now()`. */
    record(route: string, method: string | undefined, status: number, startedAt: number): void {
      of(route, method, status).observeSince(startedAt);
    },
  };
};

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;
