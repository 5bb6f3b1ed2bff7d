import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { namesHtml } from '../../ops/http/names-html.js';
import type { Page } from '../../ops/http/page.js';
import { noSniff } from '../../ops/http/refusal.js';
import { messages, type GeneralError } from '../../schemas/http/errors.js';
import { isPermanent, redirectStatuses, type RedirectStatus } from '../../schemas/link-options.js';
import type { ServedDomain } from '../domains/served-domain.js';
import { pages, tooManyAttemptsPage, type PageName } from './pages.js';

/** The fields of the general error envelope that depend on the error. */
type ErrorFields = Pick<GeneralError, 'statusCode' | 'message' | 'errorType' | 'retryAfter'>;

const failures = {
  notFound: { statusCode: 404, message: messages.codeNotFound },
  expired: { statusCode: 410, message: messages.linkExpired, errorType: 'EXPIRED' },
  deleted: { statusCode: 410, message: messages.linkDeleted, errorType: 'DELETED' },
  disabled: { statusCode: 410, message: messages.linkDisabled, errorType: 'DISABLED' },
  blocked: { statusCode: 410, message: messages.linkBlocked, errorType: 'BLOCKED' },
  prefetch: { statusCode: 403, message: messages.prefetch },
  unavailable: { statusCode: 503, message: messages.unavailable },
  maintenance: { statusCode: 503, message: messages.maintenance },
} as const satisfies Partial<Record<PageName, ErrorFields>>;

/** `Retry-After`, in seconds. */
const retryAfterOf: Partial<Record<keyof typeof failures, string>> = {
  unavailable: '1',
  maintenance: '60',
};

/** All headers are passed to `writeHead`: calls of `setHeader` before it are slower. */
type Headers = Readonly<Record<string, string>>;

export const commonHeaders = { 'Cache-Control': 'no-store', ...noSniff };

export const pathOf = (request: Pick<IncomingMessage, 'url'>): string => {
  const url = request.url ?? '/';
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
};

export const queryOf = (request: Pick<IncomingMessage, 'url'>): string => {
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
};

export const sendPage = (
  response: ServerResponse,
  status: number,
  { html, securityPolicy }: Page,
  headers: Headers = {},
): void => {
  response.writeHead(status, {
    ...commonHeaders,
    ...headers,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': securityPolicy,
    'Content-Length': html.byteLength,
  });
  response.end(html);
};

export const sendJson = (
  response: ServerResponse,
  status: number,
  body: object,
  headers: Headers = {},
): void => {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...commonHeaders,
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
};

export const sendError = (
  response: ServerResponse,
  { statusCode, ...error }: ErrorFields,
  headers: Headers = {},
): void => {
  const body: GeneralError = {
    statusCode,
    timestamp: new Date().toISOString(),
    path: pathOf(response.req),
    method: response.req.method ?? 'GET',
    ...error,
  };
  sendJson(response, statusCode, body, headers);
};

/** Sends a page to clients that accept HTML, and the general error envelope to others. */
const sendPageOrError = (
  response: ServerResponse,
  error: ErrorFields,
  page: Page,
  retryAfter: string | undefined,
): void => {
  const headers: Headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
  if (namesHtml(response.req.headers.accept)) sendPage(response, error.statusCode, page, headers);
  else sendError(response, error, headers);
};

/** The headers besides `Location`. The flat array of names and values is the fastest form for node:http. */
const redirectHeaders = (status: RedirectStatus): readonly string[] => [
  ...['Cache-Control', isPermanent(status) ? 'private, max-age=60' : 'private, no-store'],
  ...['Referrer-Policy', 'no-referrer-when-downgrade'],
  ...Object.entries(noSniff).flat(),
  ...['Content-Length', '0'],
];

const headersOf = new Map(redirectStatuses.map((status) => [status, redirectHeaders(status)]));

/** Always 303 after a POST, so that the browser requests the destination with GET. */
export const sendRedirect = (
  response: ServerResponse,
  location: string,
  status: RedirectStatus = 302,
): void => {
  const sent = response.req.method === 'POST' ? 303 : status;
  response.writeHead(sent, ['Location', location, ...(headersOf.get(sent) ?? [])]);
  response.end();
};

type FailureName = keyof typeof failures;

/** The redirect of a domain that replaces the page of a failure. A blocked link has none. */
const replacements: Partial<Record<FailureName, 'notFoundRedirect' | 'expiredRedirect'>> = {
  notFound: 'notFoundRedirect',
  expired: 'expiredRedirect',
  deleted: 'expiredRedirect',
  disabled: 'expiredRedirect',
};

/** Sends a page or an error. @param domain redirects browsers instead @param expiredUrl of the link, likewise */
export const sendFailure = (
  response: ServerResponse,
  name: FailureName,
  domain: Pick<ServedDomain, 'notFoundRedirect' | 'expiredRedirect'> | null = null,
  expiredUrl: string | null = null,
): void => {
  const replacement = replacements[name];
  const location =
    (name === 'expired' ? expiredUrl : null) ?? (replacement && domain?.[replacement]);
  if (location && namesHtml(response.req.headers.accept)) sendRedirect(response, location);
  else sendPageOrError(response, failures[name], pages[name], retryAfterOf[name]);
};

const linesOf = (headers: readonly string[]): string =>
  headers.reduce((text, part, index) => text + part + (index % 2 === 0 ? ': ' : '\r\n'), '\r\n');

/** The lines before and after the location. */
const headOf = new Map(
  redirectStatuses.map((status) => [
    status,
    {
      start: `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nLocation: `,
      end: linesOf(redirectHeaders(status)),
    },
  ]),
);

/** The status line and the headers of a redirect after a GET, as node:http writes them. */
export const redirectHead = (location: string, status: RedirectStatus): string => {
  const head = headOf.get(status);
  if (!head) throw new RangeError(`${status} is no status of a redirect`);
  return head.start + location + head.end;
};

/** Closes the connection, because the body is not read. */
export const refuseBody = (
  response: ServerResponse,
  error: ErrorFields,
  headers: Headers = {},
): void => {
  response.setHeader('Connection', 'close');
  sendError(response, error, headers);
};

export const refuseMethod = (response: ServerResponse, allow: string): void => {
  const error = { statusCode: 405, message: messages.methodNotAllowed };
  refuseBody(response, error, { Allow: allow });
};

/** The longest wait in `Retry-After`. */
const maxRetryAfterMs = 30_000;

/**
 * The value of `Retry-After`: whole seconds, at least 1.
 *
 * After five wrong attempts, a client is throttled for a minute, but `Retry-After` is at most 30 s. After the first 30 s,
 * it gets the remaining wait.
 */
export const retryAfterSeconds = (waitMs: number): number =>
  Math.max(1, Math.ceil(Math.min(waitMs, maxRetryAfterMs) / 1_000));

/** 429 with `Retry-After`. */
export const sendTooManyAttempts = (response: ServerResponse, waitMs: number): void => {
  const retryAfter = retryAfterSeconds(waitMs);
  const error = { statusCode: 429, message: messages.tooManyAttempts, retryAfter };
  sendPageOrError(response, error, tooManyAttemptsPage(retryAfter), String(retryAfter));
};
