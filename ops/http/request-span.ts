import type { IncomingHttpHeaders } from 'node:http';
import { traceparentOf } from '../../schemas/traceparent.js';
import type { Span, Tracer } from '../platform/tracing.js';
import { newId } from '../platform/new-id.js';

const acceptable = /^[\x21-\x7e]{1,128}$/;

/** The client's `X-Request-Id` if it has 1 to 128 visible ASCII characters. */
export const namedRequestId = (
  header: string | readonly string[] | undefined,
): string | undefined =>
  typeof header === 'string' && acceptable.test(header) ? header : undefined;

/** `namedRequestId`, or a new id. */
export const requestIdOf = (header: string | readonly string[] | undefined): string =>
  namedRequestId(header) ?? newId();

/** Methods with their own name; clients may send about thirty others. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Routes that monitoring requests every few seconds. */
const untraced: ReadonlySet<string> = new Set(['/health', '/health/ready', '/metrics']);

/**
 * Starts the span of a request; `undefined` for health checks and metrics.
 *
 * @param route a pattern such as `/:shortCode`, or `other`, but never the path of a request
 * @param startedAt of `performance.now()`
 */
export const startRequestSpan = (
  tracer: Tracer,
  method: string | undefined,
  route: string,
  headers: IncomingHttpHeaders,
  startedAt: number,
): Span | undefined => {
  if (untraced.has(route)) return undefined;
  const known = methods.find((name) => name === method);
  const name = known ?? 'HTTP';
  const isRoute = route !== 'other';
  return tracer.start({
    name: isRoute ? `${name} ${route}` : name,
    kind: 'server',
    parent: traceparentOf(headers['traceparent']) ?? null,
    startedAt,
    attributes: {
      'http.request.method': known ?? '_OTHER',
      ...(isRoute && { 'http.route': route }),
    },
  });
};

/** Only statuses of servers are failures. */
export const endRequestSpan = (span: Span | undefined, status: number): void => {
  span?.end({
    attributes: { 'http.response.status_code': status },
    failure: status >= 500 ? String(status) : null,
  });
};
