import type { RequestListener, ServerResponse } from 'node:http';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { hasCode } from '../../ops/platform/errors.js';
import { healthStatus, type HealthCheck } from '../../ops/platform/http/health.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import { isConnectionError, OutcomeUnknown } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import { shortCodePattern } from '../../schemas/http/shorten.js';
import { pathOf, refuseMethod, sendError, sendFailure, sendJson, sendRedirect } from './answer.js';
import { createVisits, type VisitDeps } from './visits.js';

export interface EdgeDeps extends VisitDeps {
  readonly platform: { readonly maintenance: boolean };
  readonly health: HealthCheck;
  readonly rootRedirect: string | null;
  readonly requests: RequestRecorder;
  readonly logger: Logger;
}

/** Never codes. */
const fixedPaths: ReadonlySet<string> = new Set([
  '/',
  '/robots.txt',
  '/favicon.ico',
  '/health',
  '/health/ready',
]);

const robots = 'User-agent: *\nAllow: /\n';

/** The path behind its slash, percent-decoded; `null` where the encoding is malformed. */
const nameOf = (path: string): string | null => {
  const name = path.slice(1);
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
};

/** The code that a path names, or `null` where it cannot be one. */
const codeOf = (path: string): string | null => {
  const name = nameOf(path);
  return name !== null && shortCodePattern.test(name) ? name : null;
};

/** The code whose preview a path names: `/code+`. */
const previewedCodeOf = (path: string): string | null => {
  const name = nameOf(path);
  if (!name?.endsWith('+')) return null;
  const code = name.slice(0, -1);
  return shortCodePattern.test(code) ? code : null;
};

/** The pattern that a path falls under, for the metrics. */
const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  if (codeOf(path) !== null) return '/:shortCode';
  return previewedCodeOf(path) === null ? 'other' : '/:shortCode+';
};

const isTransient = (error: unknown): boolean =>
  error instanceof Overloaded ||
  error instanceof OutcomeUnknown ||
  isConnectionError(error) ||
  (error as { retryable?: unknown }).retryable === true;

/**
 * Reports an event that may come thousands of times a second: the first one at once, and then once in
 * `everyMs` with the number of times since the last report.
 */
export const createFloodLog = (
  everyMs: number,
  report: (times: number) => void,
): ((now: number) => void) => {
  let times = 0;
  let reportedAt = -Infinity;
  return (now) => {
    times += 1;
    if (now - reportedAt < everyMs) return;
    report(times);
    times = 0;
    reportedAt = now;
  };
};

const overloadReportMs = 10_000;

/** Everything that the edge answers, on plain `node:http`: this is the hot path. */
export const createEdgeHandler = (deps: EdgeDeps): RequestListener => {
  const { requests, logger } = deps;
  const overloads = createFloodLog(overloadReportMs, (times) => {
    logger.warn({ times }, 'overloaded: requests rejected');
  });
  const noteOverload = (): void => {
    overloads(performance.now());
  };
  const visits = createVisits(deps, noteOverload);

  /** All methods but GET and HEAD: only links with a password have another one. */
  const respondToOther = async (response: ServerResponse, path: string): Promise<void> => {
    const code = fixedPaths.has(path) ? null : codeOf(path);
    if (deps.platform.maintenance) sendFailure(response, 'maintenance');
    else if (code === null) refuseMethod(response, 'GET, HEAD');
    else if (response.req.method === 'POST') await visits.enterPassword(response, code);
    else await visits.refuseOther(response, code);
  };

  const respond = async (response: ServerResponse, path: string): Promise<void> => {
    if (path === '/health') {
      sendJson(response, 200, { status: 'pass' });
      return;
    }
    if (path === '/health/ready') {
      const report = await deps.health();
      sendJson(response, healthStatus(report), report);
      return;
    }
    if (deps.platform.maintenance) {
      sendFailure(response, 'maintenance');
      return;
    }
    switch (path) {
      case '/':
        if (deps.rootRedirect === null) sendFailure(response, 'notFound');
        else sendRedirect(response, deps.rootRedirect);
        return;
      case '/robots.txt':
        response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' });
        response.end(robots);
        return;
      case '/favicon.ico':
        response.writeHead(204, { 'Cache-Control': 'no-store' });
        response.end();
        return;
    }
    const code = codeOf(path);
    if (code !== null) {
      await visits.follow(response, code);
      return;
    }
    const previewed = previewedCodeOf(path);
    if (previewed === null) sendFailure(response, 'notFound');
    else await visits.preview(response, previewed);
  };

  return (request, response) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    const read = request.method === 'GET' || request.method === 'HEAD';
    const record = (): void => {
      requests.record(routeOf(path), request.method, response.statusCode, startedAt);
    };
    const answered = (read ? respond : respondToOther)(response, path);
    answered.then(record, (err: unknown) => {
      const transient = isTransient(err);
      const abandoned = !request.complete && hasCode(err, 'ECONNRESET');
      if (abandoned) logger.debug({ err }, 'a client broke off its request');
      else if (err instanceof Overloaded) noteOverload();
      else if (transient) logger.warn({ err }, 'a visit could not be served');
      else logger.error({ err }, 'a visit failed');
      if (response.headersSent) response.destroy();
      else if (transient) sendFailure(response, 'unavailable');
      else sendError(response, { statusCode: 500, message: messages.internal });
      record();
    });
  };
};
