import Koa, { type Context, type Next } from 'koa';
import { withinDeadline, type Uncounted } from '../../ops/platform/concurrency/deadline.js';
import { statusOf } from '../../ops/platform/error-codes.js';
import { healthStatus, type HealthCheck } from '../../ops/http/health.js';
import { createFloodLog, type Logger } from '../../ops/platform/logging.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import { noSniff } from '../../ops/http/no-sniff.js';
import { requestIdOf } from '../../ops/http/request-id.js';
import type { Actor } from '../../schemas/decision.js';
import { messages } from '../../schemas/http/errors.js';
import type { LivenessResponse } from '../../schemas/http/health.js';
import { cors, type AllowedOrigins } from './cors.js';
import {
  failure,
  refusesMethod,
  send,
  unavailable,
  type AnswerState,
  type Reply,
} from './reply.js';

export interface RequestState extends AnswerState {
  requestId: string;
  /** For what the time of an answer does not count. */
  uncounted: Uncounted;
  /** For the log; never the key itself. */
  keyId?: string;
  /** An operator whose token was right. */
  actor?: Actor;
  /** No limit counts the request, although it has a key or an operator: signing in, reading the session. */
  isUnlimited?: true;
}

/** Milliseconds until 503, less than the 2 s that a client may wait for it. */
const answerWithinMs = 1_800;

/** What went wrong inside, as far as a client may know. */
const replyToError = (error: unknown): Reply =>
  statusOf(error) === 503 ? unavailable() : failure(500, messages.internal);

export interface AppDeps {
  readonly health: HealthCheck;
  readonly requests: Pick<RequestRecorder, 'record'>;
  readonly logger: Logger;
}

/** Requests that cost their sender nothing: so many lines in a minute for each status. */
const floodLog = { everyMs: 60_000, lines: 20 };

/** Whether a client may send such requests as often as it likes: no key, or nothing that a key pays for. */
const isFree = ({ keyId, actor, isUnlimited }: Partial<RequestState>, status: number): boolean =>
  (keyId ?? actor) === undefined || isUnlimited === true || status === 429 || status === 503;

/** The routes that both listeners have. */
const sharedRoutes: ReadonlySet<string> = new Set(['/health', '/health/ready']);

/**
 * A Koa application with what the API's and the operators' listeners share. `routeOf` gives the
 * pattern of the route that answers a path, for the metrics; `null` where there is none.
 */
export const createApp = (
  { health, requests, logger }: AppDeps,
  routeOf: (path: string) => string | null,
  allowedOrigins: AllowedOrigins = [],
): Koa<RequestState> => {
  const floods = new Map<number, ReturnType<typeof createFloodLog>>();
  const floodOf = (status: number) => {
    const flood = floods.get(status) ?? createFloodLog(floodLog.everyMs, floodLog.lines);
    floods.set(status, flood);
    return flood;
  };

  const app = new Koa<RequestState>();
  // Koa would print to stderr by itself.
  app.silent = true;
  app.on('error', (err: unknown) => {
    logger.debug({ err }, 'an answer could not be sent');
  });

  app.use(async (ctx, next) => {
    const started = performance.now();
    const requestId = requestIdOf(ctx.headers['x-request-id']);
    const headers = { 'X-Request-Id': requestId, ...noSniff };
    Object.assign(ctx.state, { requestId, headers });
    // Node reads on before anything is answered: a body that smuggles a request gets its 400, not a 401.
    await Promise.resolve();
    try {
      await withinDeadline(answerWithinMs, async (uncounted) => {
        ctx.state.uncounted = uncounted;
        await next();
      });
    } catch (err) {
      const reply = replyToError(err);
      // What is away says so itself, once: not each request while it is.
      if (reply.status === 503) logger.debug({ err, requestId }, 'a request was answered with 503');
      else logger.error({ err, requestId }, 'a request failed');
      send(ctx, reply);
    }
    // Koa writes what `send` has not written.
    if (!ctx.headerSent) ctx.set(headers);
    const { method, path, status } = ctx;
    const route = sharedRoutes.has(path) ? path : (routeOf(path) ?? 'other');
    requests.record(route, method, status, started);
    const ms = Math.round((performance.now() - started) * 10) / 10;
    const unlogged = isFree(ctx.state, status) ? floodOf(status)(performance.now()) : 0;
    if (unlogged === null) return;
    const { keyId } = ctx.state;
    const optional = { ...(keyId && { keyId }), ...(unlogged > 0 && { unlogged }) };
    logger.info({ requestId, method, path, status, ms, ...optional }, 'request');
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
