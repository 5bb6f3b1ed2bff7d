import type { RequestListener, ServerResponse } from 'node:http';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { isStatementFault, statusOf } from '../../ops/platform/error-codes.js';
import { hasCode } from '../../ops/platform/errors.js';
import { namesHtml } from '../../ops/http/names-html.js';
import { healthStatus, type HealthCheck } from '../../ops/http/health.js';
import { createFloodLog, type Logger } from '../../ops/platform/logging.js';
import type { RequestRecorder } from '../../ops/platform/metrics/metrics.js';
import type { Tracer } from '../../ops/platform/tracing.js';
import { endRequestSpan, startRequestSpan } from '../../ops/http/request-span.js';
import { messages } from '../../schemas/http/errors.js';
import { traceIdOf, traceparentOf } from '../../schemas/traceparent.js';
import { addressOf } from '../../ops/http/client-address.js';
import { subjectOn, type DomainResolver, type ServedDomain } from '../domains/served-domain.js';
import { isPrefetch } from '../visitors/visit-analyzer.js';
import {
  commonHeaders,
  pathOf,
  refuseMethod,
  sendError,
  sendFailure,
  sendJson,
  sendRedirect,
} from './response.js';
import { fixedPaths, linkNameIn, routeOf, type LinkName } from './paths.js';
import { createVisits, type RequestedLinks, type VisitDeps } from './visits.js';

interface EdgeDeps extends VisitDeps {
  readonly platform: { readonly maintenance: boolean };
  readonly health: HealthCheck;
  readonly domains: DomainResolver;
  readonly requests: RequestRecorder;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}

type Respond = (response: ServerResponse, path: string, domain: ServedDomain) => Promise<void>;

/** The links that a path may name, on a domain. */
const linksOf = (domain: ServedDomain, { codes, rest }: LinkName): RequestedLinks => {
  const [first, ...others] = codes;
  return {
    domain,
    rest,
    subjects: [subjectOn(domain, first), ...others.map((code) => subjectOn(domain, code))],
  };
};

/** ROOT_REDIRECT applies to all clients; the redirect of another domain replaces a page for browsers. */
const respondToRoot = (response: ServerResponse, domain: ServedDomain): void => {
  const { account, rootRedirect } = domain;
  const isReplaced = account === null || namesHtml(response.req.headers.accept);
  if (rootRedirect !== null && isReplaced) sendRedirect(response, rootRedirect);
  else sendFailure(response, 'notFound', domain);
};

const robots = 'User-agent: *\nAllow: /\n';

const overloadReportMs = 10_000;

export const createEdgeHandler = (deps: EdgeDeps): RequestListener => {
  const { requests, tracer, logger, domains } = deps;
  const overloads = createFloodLog(overloadReportMs, 1);
  const visits = createVisits(deps);

  /** Methods other than GET and HEAD: only links with a form accept POST. */
  const respondToOther: Respond = async (response, path, domain) => {
    const name = fixedPaths.has(path) ? null : linkNameIn(path);
    if (deps.platform.maintenance) sendFailure(response, 'maintenance');
    else if (!name || name.previewed) refuseMethod(response, 'GET, HEAD');
    else if (response.req.method === 'POST')
      await visits.submitForm(response, linksOf(domain, name));
    else await visits.refuseOther(response, linksOf(domain, name));
  };

  const respond: Respond = async (response, path, domain) => {
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
        respondToRoot(response, domain);
        return;
      case '/robots.txt':
        response.writeHead(200, { ...commonHeaders, 'Content-Type': 'text/plain' });
        response.end(robots);
        return;
      case '/favicon.ico':
        response.writeHead(204, commonHeaders);
        response.end();
        return;
    }
    const name = linkNameIn(path);
    if (!name) sendFailure(response, 'notFound', domain);
    else if (name.previewed) await visits.preview(response, linksOf(domain, name));
    else if (isPrefetch(response.req.headers)) sendFailure(response, 'prefetch');
    else await visits.follow(response, linksOf(domain, name));
  };

  return (request, response) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    const host = domains.hostOf(request.headers, addressOf(request.socket));
    const domain = domains.domainOf(host);
    const read = request.method === 'GET' || request.method === 'HEAD';
    const span = tracer
      ? startRequestSpan(tracer, request.method, routeOf(path), request.headers, startedAt)
      : undefined;
    const record = (): void => {
      requests.record(routeOf(path), request.method, response.statusCode, startedAt);
      endRequestSpan(span, response.statusCode);
    };
    /** The trace id for log lines. */
    const trace = (): { readonly traceId?: string } => {
      const traceparent = span?.traceparent ?? traceparentOf(request.headers['traceparent']);
      return traceparent === undefined ? {} : { traceId: traceIdOf(traceparent) };
    };
    const fail = (err: unknown): void => {
      const isUnavailable = statusOf(err) === 503;
      // ERR_HTTP_HEADERS_SENT: the listener has responded to a body that it could not parse.
      const aborted = hasCode(err, 'ECONNRESET', 'ERR_HTTP_HEADERS_SENT');
      if (aborted && !request.complete) logger.debug({ err }, 'a client aborted its request');
      else if (err instanceof Overloaded) {
        const unlogged = overloads(performance.now());
        if (unlogged !== null) {
          logger.warn({ times: unlogged + 1 }, 'overloaded: requests rejected');
        }
      }
      // The unavailable dependency logs its outage once.
      else if (isUnavailable && !isStatementFault(err)) {
        logger.debug({ err, ...trace() }, 'a visit got 503');
      } else logger.error({ err, ...trace() }, 'a visit failed');
      if (response.headersSent) {
        // A complete response may wait for earlier responses of the connection.
        if (!response.writableEnded) response.destroy();
      } else if (isUnavailable) sendFailure(response, 'unavailable');
      else sendError(response, { statusCode: 500, message: messages.internal });
      record();
    };
    (read ? respond : respondToOther)(response, path, domain).then(record, fail);
  };
};
