import { createApp, listenerOf, metricsRoute } from '../../command-api/http/app.js';
import { createGuesses } from '../../command-api/http/guesses.js';
import { failure, send } from '../../command-api/http/reply.js';
import { messages } from '../../schemas/http/errors.js';
import type { Config } from '../config/config.js';
import type { HealthCheck } from '../http/health.js';
import { operatorsListener } from '../http/operators-listener.js';
import { createMetricsAccess } from '../http/metrics-access.js';
import { listen, type HttpListener } from '../http/server.js';
import type { ActiveDomains } from '../ledger/active-domains.js';
import type { Logger } from '../platform/logging.js';
import type { Metrics } from '../platform/metrics/metrics.js';

/** The operators' listener of a process without the API: health, metrics and names of certificates. */
export const startMonitoring = ({
  config,
  activeDomains,
  health,
  metrics,
  logger,
}: {
  readonly config: Config;
  readonly activeDomains: ActiveDomains;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Promise<HttpListener> => {
  const { admin, adminToken, metricsToken, trustedProxies, shortUrlHost } = config;
  const requests = metrics.requests('admin');
  const app = createApp(
    { shortUrlHost, activeDomains, health, requests, tracer: null, logger, isQuiet: true },
    (path) => (path === '/metrics' ? path : null),
  );
  const metricsAccess = createMetricsAccess({ host: admin.host, adminToken, metricsToken }, logger);
  app.use(metricsRoute({ metrics, metricsAccess, guesses: createGuesses(trustedProxies) }));
  app.use((ctx) => {
    send(ctx, failure(404, messages.notFound));
  });
  const isDomain = (name: string): boolean => activeDomains.find(name) !== undefined;
  return listen('ADMIN', admin, { trustedProxies, logger }, () => ({
    http: operatorsListener({ isDomain, shortUrlHost, hosts: admin.names }, listenerOf(app)),
  }));
};
