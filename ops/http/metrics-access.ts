import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';
import type { Logger } from '../platform/logging.js';
import { createHash, timingSafeEqual } from 'node:crypto';

const bearer = /^Bearer +(\S+) *$/i;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The token of the `Authorization` header; `undefined` if there is none. */
export const bearerToken = ({ authorization = '' }: IncomingHttpHeaders): string | undefined =>
  bearer.exec(authorization)?.[1];

/** Returns a function that compares a token with each of `tokens`, in constant time. */
export const tokenMatcher = (tokens: readonly string[]): ((token: string) => boolean) => {
  const expected = tokens.map(digest);
  return (token) => {
    const given = digest(token);
    return expected.filter((known) => timingSafeEqual(given, known)).length > 0;
  };
};

/** Whether only programs of this machine reach a listener with this bind address. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

const refusals = {
  missing: {
    statusCode: 401,
    message: 'Metrics token required. Pass it as: Authorization: Bearer <METRICS_TOKEN>',
    error: 'Unauthorized',
  },
  unset: {
    statusCode: 403,
    message: 'METRICS_TOKEN is not set on this process. Without it, only loopback has metrics.',
    error: 'Forbidden',
  },
} as const;

interface MetricsRefusal {
  readonly body: (typeof refusals)[keyof typeof refusals];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the request had a wrong token, which counts as a guess. */
  readonly isGuess: boolean;
}

/**
 * Returns a function that checks a request for GET /metrics; `null`: it is allowed. Without a metrics token, the metrics
 * are open on loopback.
 *
 * @param adminToken is accepted too; `null` on processes without the admin API
 */
export const createMetricsAccess = (
  options: {
    readonly host: string;
    readonly metricsToken: string | null;
    readonly adminToken: string | null;
  },
  logger: Logger,
): ((headers: IncomingHttpHeaders) => MetricsRefusal | null) => {
  const { host, metricsToken, adminToken } = options;
  const tokens = [metricsToken, adminToken].filter((token) => token !== null);
  if (metricsToken === null && isLoopback(host)) return () => null;
  if (tokens.length === 0) {
    logger.warn({ host }, 'METRICS_TOKEN is not set: GET /metrics responds 403');
    return () => ({ body: refusals.unset, headers: {}, isGuess: false });
  }
  const matches = tokenMatcher(tokens);
  return (headers) => {
    const token = bearerToken(headers);
    if (token !== undefined && matches(token)) return null;
    return {
      body: refusals.missing,
      headers: { 'WWW-Authenticate': 'Bearer' },
      isGuess: token !== undefined,
    };
  };
};

export type MetricsAccess = ReturnType<typeof createMetricsAccess>;
