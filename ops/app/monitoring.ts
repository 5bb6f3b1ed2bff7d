import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { messages } from '../../schemas/http/errors.js';
import type { Config } from '../config/config.js';
import { healthStatus, type HealthCheck } from '../http/health.js';
import { answerTlsAsk } from '../http/tls-ask.js';
import { throttleGuesses } from '../http/guess-throttle.js';
import { onlyForHosts } from '../http/known-hosts.js';
import { createMetricsAccess } from '../http/metrics-access.js';
import { noSniff, refuse } from '../http/refusal.js';
import { listen, type HttpListener } from '../http/server.js';
import type { ActiveDomains } from '../ledger/active-domains.js';
import type { Logger } from '../platform/logging.js';
import type { Metrics } from '../platform/metrics/metrics.js';

const json = 'application/json; charset=utf-8';

export const startMonitoring = ({
  config,
  activeDomains,
  health,
  metrics,
  logger,
}: {
  readonly config: Pick<
    Config,
    'admin' | 'adminToken' | 'metricsToken' | 'trustedProxies' | 'shortUrlHost'
  >;
  readonly activeDomains: ActiveDomains;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Promise<HttpListener> => {
  const { admin, trustedProxies, shortUrlHost } = config;
  const requests = metrics.requests('admin');
  const { adminToken, metricsToken } = config;
  const metricsAccess = createMetricsAccess({ host: admin.host, adminToken, metricsToken }, logger);
  const countGuess = throttleGuesses(trustedProxies);
  const isDomain = (name: string): boolean => activeDomains.find(name) !== undefined;

  /** Refuses GET /metrics without a valid token. Returns whether it did. */
  const refusesMetrics = (request: IncomingMessage, response: ServerResponse): boolean => {
    const refused = metricsAccess(request.headers);
    if (!refused) return false;
    const retryAfter = refused.isGuess ? countGuess(request) : 0;
    if (retryAfter > 0) {
      response.setHeader('Retry-After', String(retryAfter));
      refuse(request, response, { status: 429, message: messages.tooManyAttempts });
      return true;
    }
    const { body } = refused;
    const headers = { 'Content-Type': json, 'Cache-Control': 'no-store', ...noSniff };
    response
      .writeHead(body.statusCode, { ...headers, ...refused.headers })
      .end(JSON.stringify(body));
    return true;
  };

  /** Returns status, content type and body; `null` if the path is unknown. */
  const resolve = async (
    path: string,
  ): Promise<readonly [number, string, string | Buffer] | null> => {
    switch (path) {
      case '/health':
        return [200, json, '{"status":"pass"}'];
      case '/health/ready': {
        const report = await health();
        return [healthStatus(report), json, JSON.stringify(report)];
      }
      case '/metrics':
        return [200, metrics.contentType, await metrics.scrape()];
      default:
        return null;
    }
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = performance.now();
    const { method, url = '' } = request;
    const [path = ''] = url.split('?');
    const reads = method === 'GET' || method === 'HEAD';
    if (path === '/metrics' && reads && refusesMetrics(request, response)) {
      requests.record(path, method, response.statusCode, startedAt);
      return;
    }
    const result = await resolve(path);
    if (result === null) {
      refuse(request, response, { status: 404, message: messages.notFound });
    } else if (!reads) {
      response.setHeader('Allow', 'GET, HEAD');
      refuse(request, response, { status: 405, message: messages.methodNotAllowed });
    } else {
      const [status, type, body] = result;
      const headers = { 'Content-Type': type, 'Cache-Control': 'no-store', ...noSniff };
      response.writeHead(status, headers).end(body);
    }
    requests.record(result === null ? 'other' : path, method, response.statusCode, startedAt);
  };

  const handler: RequestListener = (request, response) => {
    respond(request, response).catch((err: unknown) => {
      // The listener has already responded to a malformed body.
      if (response.headersSent) return;
      logger.error({ err, path: request.url }, 'a request failed');
      refuse(request, response, { status: 500, message: messages.internal });
    });
  };
  return listen('ADMIN', admin, trustedProxies, () => ({
    http: answerTlsAsk({ isDomain, shortUrlHost }, onlyForHosts(admin.names, handler)),
  }));
};
