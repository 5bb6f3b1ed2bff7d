import type { RequestListener } from 'node:http';
import type { Listen } from './platform/config.js';
import { healthStatus, type HealthCheck } from './platform/health.js';
import { listen, type Listener } from './platform/http-server.js';
import type { Logger } from './platform/logging.js';
import type { Metrics } from './platform/metrics.js';

const json = 'application/json; charset=utf-8';

/** Where a process that has no admin API tells of itself: health and metrics, on ADMIN_PORT. */
export const startMonitoring = (deps: {
  readonly admin: Listen;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Promise<Listener> => {
  const { health, metrics, logger } = deps;

  const answer = async (path: string): Promise<readonly [number, string, string]> => {
    switch (path) {
      case '/health':
        return [200, json, '{"status":"pass"}'];
      case '/health/ready': {
        const report = await health();
        return [healthStatus(report), json, JSON.stringify(report)];
      }
      case '/metrics':
        return [200, metrics.contentType, await metrics.text()];
      default:
        return [404, json, '{"statusCode":404,"message":"Not Found"}'];
    }
  };

  const handler: RequestListener = (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    answer(path).then(
      ([status, type, body]) => {
        response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
      },
      (err: unknown) => {
        logger.error({ err, path }, 'a request failed');
        response.writeHead(500).end();
      },
    );
  };
  return listen('ADMIN', deps.admin, () => handler);
};
