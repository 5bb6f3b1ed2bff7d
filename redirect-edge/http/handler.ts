import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { healthStatus, type HealthCheck } from '../../ops/platform/http/health.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { RequestRecorder } from '../../ops/platform/metrics/requests.js';
import { isConnectionError, OutcomeUnknown } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import { isBot } from '../domain/bots.js';
import {
  answerPreview,
  answerVisit,
  type ServedLink,
  type VisitRequest,
  type VisitAnswer,
} from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import {
  pathOf,
  refuseMethod,
  sendConcealed,
  sendError,
  sendFailure,
  sendJson,
  sendPage,
  sendRedirect,
} from './answer.js';
import { createFloodLog } from './flood-log.js';
import { codeOf, previewedCodeOf } from './link-route.js';
import { pages } from './pages.js';
import { createPasswordEntry, methodsOf, type PasswordEntryDeps } from './password-entry.js';
import { previewPage } from './preview-page.js';
import { createVisits, type VisitDeps } from './visits.js';

export interface EdgeDeps extends VisitDeps, Omit<PasswordEntryDeps, 'visits' | 'noteOverload'> {
  readonly links: LinkReader;
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

/** The pattern that a path falls under, for the metrics. */
const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  if (codeOf(path) !== null) return '/:shortCode';
  return previewedCodeOf(path) === null ? 'other' : '/:shortCode+';
};

const overloadToldEveryMs = 10_000;

const robots = 'User-agent: *\nAllow: /\n';

const isTransient = (error: unknown): boolean =>
  error instanceof Overloaded ||
  error instanceof OutcomeUnknown ||
  isConnectionError(error) ||
  (error as { retryable?: unknown }).retryable === true;

/** Everything that the edge answers, on plain `node:http`: this is the hot path. */
export const createEdgeHandler = (deps: EdgeDeps): RequestListener => {
  const { links, requests, logger } = deps;
  const visits = createVisits(deps);
  const overloads = createFloodLog(overloadToldEveryMs, (times) => {
    logger.warn({ times }, 'more was asked than can wait: refused');
  });
  const noteOverload = (): void => {
    overloads(performance.now());
  };
  const enterPassword = createPasswordEntry({ ...deps, visits, noteOverload });

  const act = async (
    request: IncomingMessage,
    response: ServerResponse,
    link: ServedLink,
    answer: VisitAnswer,
    visit: VisitRequest,
  ): Promise<void> => {
    switch (answer.type) {
      case 'redirect':
        if (answer.counted) await visits.record(request, link, visit.bot, visit.now);
        sendRedirect(response, link.location);
        return;
      case 'takeClick': {
        const outcome = await visits.takeClick(request, link);
        if (outcome === 'taken') sendRedirect(response, link.location);
        else sendFailure(request, response, outcome);
        return;
      }
      case 'askPassword':
        sendPage(response, 200, pages.passwordForm);
        return;
      case 'conceal':
        sendConcealed(response);
        return;
      case 'notFound':
      case 'expired':
      case 'blocked':
        sendFailure(request, response, answer.type);
        return;
      default: {
        const unknown: never = answer;
        throw new Error(`No answer ${String(unknown)}`);
      }
    }
  };

  /** Whatever is no code may be a code's preview. */
  const preview = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> => {
    const code = previewedCodeOf(path);
    const cached = code === null ? undefined : links.cached(code);
    // Memory does not see a limit used up, and here nobody asks the ledger for a click.
    const known = cached && !cached.limited ? cached : null;
    const link = known ?? (code === null ? null : await links.read(code));
    const answer = answerPreview(link, Date.now());
    if (answer.type === 'preview') sendPage(response, 200, previewPage(answer));
    else sendFailure(request, response, answer.type);
  };

  const visitLink = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> => {
    const code = codeOf(path);
    if (code === null) {
      await preview(request, response, path);
      return;
    }
    const link = links.cached(code) ?? (await links.read(code));
    const visit = {
      head: request.method === 'HEAD',
      bot: isBot(request.headers['user-agent']),
      now: Date.now(),
    };
    const answer = answerVisit(link, visit);
    if (link) await act(request, response, link, answer, visit);
    else sendFailure(request, response, 'notFound');
  };

  const answerHealth = async (response: ServerResponse, path: string): Promise<void> => {
    if (path === '/health') {
      sendJson(response, 200, { status: 'pass' });
      return;
    }
    const report = await deps.health();
    sendJson(response, healthStatus(report), report);
  };

  /** All methods but GET and HEAD: only links with a password have another one. */
  const respondToOther = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> => {
    if (deps.platform.maintenance) {
      sendFailure(request, response, 'maintenance');
      return;
    }
    const code = fixedPaths.has(path) ? null : codeOf(path);
    if (code !== null && request.method === 'POST') {
      await enterPassword(request, response, code);
      return;
    }
    const allow = code === null ? 'GET, HEAD' : await methodsOf(links, code);
    refuseMethod(request, response, allow);
  };

  const respond = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> => {
    if (path === '/health' || path === '/health/ready') {
      await answerHealth(response, path);
      return;
    }
    if (deps.platform.maintenance) {
      sendFailure(request, response, 'maintenance');
      return;
    }
    switch (path) {
      case '/':
        if (deps.rootRedirect === null) sendFailure(request, response, 'notFound');
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
      default:
        await visitLink(request, response, path);
    }
  };

  return (request, response) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    const read = request.method === 'GET' || request.method === 'HEAD';
    const record = (): void => {
      requests.record(routeOf(path), request.method, response.statusCode, startedAt);
    };
    const answered = (read ? respond : respondToOther)(request, response, path);
    answered.then(record, (err: unknown) => {
      const transient = isTransient(err);
      const abandoned = !request.complete && (err as { code?: unknown }).code === 'ECONNRESET';
      // Broken off amid its body: the client's doing, and nobody is there to answer.
      if (abandoned) logger.debug({ err }, 'a client went');
      else if (err instanceof Overloaded) noteOverload();
      else if (transient) logger.warn({ err }, 'a visit could not be served');
      else logger.error({ err }, 'a visit failed');
      if (response.headersSent) response.destroy();
      else if (transient) sendFailure(request, response, 'unavailable');
      else sendError(request, response, { statusCode: 500, message: messages.internal });
      record();
    });
  };
};
