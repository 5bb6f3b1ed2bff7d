import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Overloaded } from '../../ops/platform/batcher.js';
import { healthStatus, type HealthCheck } from '../../ops/platform/health.js';
import type { Logger } from '../../ops/platform/logging.js';
import { isConnectionError, OutcomeUnknown } from '../../ops/platform/postgres/pool.js';
import { requestIdOf } from '../../ops/platform/request-id.js';
import { messages } from '../../schemas/http/errors.js';
import { shortCodePattern } from '../../schemas/http/shorten.js';
import type { ClickDesk } from '../clicks/click-desk.js';
import { isBot } from '../domain/bots.js';
import { answerVisit, type ServedLink, type Visit, type VisitAnswer } from '../domain/visit.js';
import type { LinkReader } from '../links/link-reader.js';
import type { Spool } from '../spool/spool.js';
import { pathOf, sendConcealed, sendError, sendFailure, sendJson, sendRedirect } from './answer.js';

export interface EdgeDeps {
  readonly links: LinkReader;
  readonly clicks: ClickDesk;
  /** Writes down the visits of links without a limit. */
  readonly spool: Pick<Spool, 'append'>;
  readonly platform: { readonly maintenance: boolean };
  readonly health: HealthCheck;
  readonly rootRedirect: string | null;
  readonly logger: Logger;
}

const robots = 'User-agent: *\nAllow: /\n';

/** The code that a path names, or `null` where it cannot be one. */
const codeOf = (path: string): string | null => {
  let code = path.slice(1);
  if (code.includes('%')) {
    try {
      code = decodeURIComponent(code);
    } catch {
      // Malformed percent-encoding names no code.
      return null;
    }
  }
  return shortCodePattern.test(code) ? code : null;
};

const isTransient = (error: unknown): boolean =>
  error instanceof Overloaded ||
  error instanceof OutcomeUnknown ||
  isConnectionError(error) ||
  (error as { retryable?: unknown }).retryable === true;

/** Everything that the edge answers, on plain `node:http`: this is the hot path. */
export const createEdgeHandler = (deps: EdgeDeps): RequestListener => {
  const { links, clicks, logger } = deps;

  const takeClick = async (
    request: IncomingMessage,
    response: ServerResponse,
    link: ServedLink,
    requestId: string,
  ): Promise<void> => {
    const outcome = await clicks.take({ code: link.code, requestId });
    if (outcome === 'taken') {
      sendRedirect(response, link.location);
      return;
    }
    // What is in memory did not know it yet.
    links.forget(link.code);
    sendFailure(request, response, outcome);
  };

  const act = async (
    request: IncomingMessage,
    response: ServerResponse,
    link: ServedLink,
    answer: VisitAnswer,
    visit: Visit,
  ): Promise<void> => {
    switch (answer.type) {
      case 'redirect': {
        if (answer.counted) {
          const { code, account } = link;
          const at = new Date(visit.now);
          const requestId = requestIdOf(request.headers['x-request-id']);
          await deps.spool.append({ code, account, bot: visit.bot, at, requestId });
        }
        sendRedirect(response, link.location);
        return;
      }
      case 'takeClick':
        await takeClick(request, response, link, requestIdOf(request.headers['x-request-id']));
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

  const visitLink = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> => {
    const code = codeOf(path);
    const link = code === null ? null : (links.cached(code) ?? (await links.read(code)));
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
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      // A body that nobody reads would hold the connection.
      response.setHeader('Connection', 'close');
      const error = { statusCode: 405, message: messages.methodNotAllowed };
      sendError(request, response, error, { Allow: 'GET, HEAD' });
      return;
    }
    respond(request, response, pathOf(request)).catch((err: unknown) => {
      const transient = isTransient(err);
      if (transient) logger.warn({ err }, 'a visit could not be served');
      else logger.error({ err }, 'a visit failed');
      if (response.headersSent) response.destroy();
      else if (transient) sendFailure(request, response, 'unavailable');
      else sendError(request, response, { statusCode: 500, message: messages.internal });
    });
  };
};
