import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import Koa, { type Context, type Next } from 'koa';
import { withinDeadline, type Uncounted } from '../../ops/platform/concurrency/deadline.js';
import { isStatementFault, statusOf } from '../../ops/platform/error-codes.js';
import type { ActiveDomains } from '../../ops/ledger/active-domains.js';
import { healthStatus, type HealthCheck } from '../../ops/http/health.js';
import { createFloodLog, type Logger } from '../../ops/platform/logging.js';
import type { MetricsAccess } from '../../ops/http/metrics-access.js';
import type { Metrics, RequestRecorder } from '../../ops/platform/metrics/metrics.js';
import type { Tracer } from '../../ops/platform/tracing.js';
import { noSniff } from '../../ops/http/refusal.js';
import { requestIdOf, endRequestSpan, startRequestSpan } from '../../ops/http/request-span.js';
import type { Actor } from '../../schemas/decision.js';
import { messages } from '../../schemas/http/errors.js';
import { sharePathOf } from '../../schemas/http/shares.js';
import type { LivenessResponse } from '../../schemas/http/health.js';
import { defaultDomainOf, type IgnoresCase } from '../../schemas/link-subject.js';
import { traceIdOf, traceparentOf } from '../../schemas/traceparent.js';
import { cors, type AllowedOrigins } from './cors.js';
import type { Guesses } from './guesses.js';
import {
  failure,
  json,
  refusesMethod,
  send,
  unavailable,
  type ResponseState,
  type Reply,
} from './reply.js';
import type { RequestCause } from './request-actor.js';

export interface RequestState extends ResponseState, RequestCause {
  /** Waits that do not count against the request's deadline. */
  uncounted: Uncounted;
  /** `null`: the default domain has no name that requests can use. */
  defaultDomain: string | null;
  ignoresCase: IgnoresCase;
  /** The calling key, for the log. */
  keyId?: string;
  actor?: Actor;
  /** No limit applies to the request, although it is authenticated: signing in, reading the session. */
  isUnlimited?: true;
}

/** The deadline of a request (ms): clients get the 503 within 2 s. */
const requestDeadlineMs = 1_800;

/** Some generated clients send absent headers as empty ones. Readers of other headers accept empty values. */
const dropEmptyHeaders = (headers: IncomingHttpHeaders): void => {
  if (headers['idempotency-key'] === '') delete headers['idempotency-key'];
  if (headers['if-match'] === '') delete headers['if-match'];
};

/** The response to an error, without its details. */
const toReply = (error: unknown): Reply =>
  statusOf(error) === 503 ? unavailable() : failure(500, messages.internal);

export interface AppDeps {
  /** Scheme and host of the default domain. */
  readonly shortUrlHost: string | null;
  readonly activeDomains: Pick<ActiveDomains, 'ignoresCase'>;
  readonly health: HealthCheck;
  readonly requests: Pick<RequestRecorder, 'record'>;
  /** `null` without tracing. */
  readonly tracer: Tracer | null;
  readonly logger: Logger;
  /** Whether the log has no lines for requests without an error. */
  readonly isQuiet?: true;
}

/** The limit of log lines for free requests, per status. */
const floodLog = { everyMs: 60_000, lines: 20 };

/** Whether no limit bounds the number of such requests. */
const isFree = ({ keyId, actor, isUnlimited }: Partial<RequestState>, status: number): boolean =>
  (keyId ?? actor) === undefined || isUnlimited === true || status === 429 || status === 503;

const sharedRoutes: ReadonlySet<string> = new Set(['/health', '/health/ready']);

/**
 * The Koa application that the listeners of the API and of operators share.
 *
 * @param routeOf returns the pattern of a path's route, for the metrics; `null` if there is none
 */
export const createApp = (
  { shortUrlHost, activeDomains, health, requests, tracer, logger, isQuiet }: AppDeps,
  routeOf: (path: string) => string | null,
  allowedOrigins: AllowedOrigins = [],
): Koa<RequestState> => {
  const floods = new Map<number, ReturnType<typeof createFloodLog>>();
  const floodOf = (status: number) => {
    const flood = floods.get(status) ?? createFloodLog(floodLog.everyMs, floodLog.lines);
    floods.set(status, flood);
    return flood;
  };

  const defaultDomain = defaultDomainOf(shortUrlHost);
  const { ignoresCase } = activeDomains;
  const app = new Koa<RequestState>();
  // Otherwise Koa prints errors to stderr.
  app.silent = true;
  app.on('error', (err: unknown) => {
    logger.debug({ err }, 'a response could not be sent');
  });

  app.use(async (ctx, next) => {
    dropEmptyHeaders(ctx.headers);
    const started = performance.now();
    const requestId = requestIdOf(ctx.headers['x-request-id']);
    const headers = { 'X-Request-Id': requestId, ...noSniff };
    const { method } = ctx;
    const path = sharePathOf(ctx.path) ?? ctx.path;
    const route = sharedRoutes.has(path) ? path : (routeOf(path) ?? 'other');
    const span = tracer ? startRequestSpan(tracer, method, route, ctx.headers, started) : undefined;
    const traceparent = span?.traceparent ?? traceparentOf(ctx.headers['traceparent']);
    Object.assign(ctx.state, { requestId, traceparent, headers, defaultDomain, ignoresCase });
    const ids = {
      requestId,
      ...(traceparent !== undefined && { traceId: traceIdOf(traceparent) }),
    };
    // Node parses the rest of the input first, so that a smuggled request gets 400, not 401.
    await Promise.resolve();
    try {
      await withinDeadline(requestDeadlineMs, async (uncounted) => {
        ctx.state.uncounted = uncounted;
        await next();
      });
    } catch (err) {
      const reply = toReply(err);
      // Unavailable dependencies log their state once, not for each request.
      if (reply.status === 503 && !isStatementFault(err)) {
        logger.debug({ err, ...ids }, 'a request got 503');
      } else logger.error({ err, ...ids }, 'a request failed');
      send(ctx, reply);
    }
    // Koa sends responses that `send` did not send.
    if (!ctx.headerSent) ctx.set(headers);
    const { status } = ctx;
    requests.record(route, method, status, started);
    endRequestSpan(span, status);
    if (isQuiet) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    const unlogged = isFree(ctx.state, status) ? floodOf(status)(performance.now()) : 0;
    if (unlogged === null) return;
    const { keyId } = ctx.state;
    const optional = { ...(keyId && { keyId }), ...(unlogged > 0 && { unlogged }) };
    // Probes check every few seconds; only a failed check is of interest.
    const level = sharedRoutes.has(path) && status === 200 ? 'debug' : 'info';
    logger[level]({ ...ids, method, path, status, ms, ...optional }, 'request');
  });

  app.use(cors(allowedOrigins));

  app.use(async (ctx: Context, next: Next) => {
    if (!sharedRoutes.has(ctx.path)) {
      await next();
      return;
    }
    if (refusesMethod(ctx)) return;
    ctx.set('Cache-Control', 'no-store');
    if (ctx.path === '/health') {
      const alive: LivenessResponse = { status: 'pass' };
      ctx.body = alive;
      return;
    }
    const report = await health();
    ctx.status = healthStatus(report);
    ctx.body = report;
  });

  return app;
};

/** GET /metrics of a listener of operators. */
export const metricsRoute =
  ({
    metrics,
    metricsAccess,
    guesses,
  }: {
    readonly metrics: Pick<Metrics, 'scrape' | 'contentType'>;
    readonly metricsAccess: MetricsAccess;
    readonly guesses: Guesses;
  }) =>
  async (ctx: Context, next: Next): Promise<void> => {
    if (ctx.path !== '/metrics') {
      await next();
      return;
    }
    ctx.set('Cache-Control', 'no-store');
    if (refusesMethod(ctx)) return;
    const refused = metricsAccess(ctx.headers);
    if (refused) {
      const reply = json(refused.body.statusCode, refused.body, refused.headers);
      send(ctx, refused.isGuess ? guesses.refuse(ctx, reply) : reply);
      return;
    }
    const { contentType } = metrics;
    send(ctx, { type: 'raw', status: 200, contentType, body: await metrics.scrape() });
  };

export const listenerOf = (app: Koa<RequestState>): RequestListener => {
  const handle = app.callback();
  return (request, response) => {
    // Koa handles errors; the promise never rejects.
    void handle(request, response);
  };
};
