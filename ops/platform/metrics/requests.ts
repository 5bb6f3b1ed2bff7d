import type { DurationHistogram, Durations } from './durations.js';

/** Methods with their own label; clients may send about thirty others. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Records the requests of one listener, without string operations, because redirects are recorded too. */
export const createRequestRecorder = (histogram: DurationHistogram, listener: string) => {
  /** By route, then by a number of method and status. */
  const routes = new Map<string, Map<number, Durations>>();
  /** @param route a pattern such as `/:shortCode`, or `other`, but never the path of a request */
  const durationsOf = (route: string, method: string | undefined, status: number): Durations => {
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
    durationsOf,
    /** @param startedAt of `performance.now()` */
    record(route: string, method: string | undefined, status: number, startedAt: number): void {
      durationsOf(route, method, status).observeSince(startedAt);
    },
  };
};

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;
