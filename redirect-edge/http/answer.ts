import type { IncomingMessage, ServerResponse } from 'node:http';
import { messages, type GeneralError } from '../../schemas/http/errors.js';
import { pages, pageSecurityPolicy, type PageName } from './pages.js';

/** Errors of the edge: status, page, message and error type. */
const failures = {
  notFound: { status: 404, message: messages.codeNotFound },
  expired: { status: 410, message: messages.linkExpired, errorType: 'EXPIRED' },
  blocked: { status: 410, message: messages.linkBlocked, errorType: 'BLOCKED' },
  unavailable: { status: 503, message: messages.unavailable, retryAfter: 1 },
  maintenance: { status: 503, message: messages.maintenance, retryAfter: 60 },
} as const satisfies Partial<
  Record<
    PageName,
    {
      status: number;
      message: string;
      errorType?: NonNullable<GeneralError['errorType']>;
      /** Seconds. */
      retryAfter?: number;
    }
  >
>;

export type FailureName = keyof typeof failures;

const commonHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

const wantsHtml = (request: IncomingMessage): boolean =>
  request.headers.accept?.toLowerCase().includes('text/html') ?? false;

/** The path of a request, without the query. */
export const pathOf = (request: IncomingMessage): string => {
  const url = request.url ?? '/';
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
};

const sendPage = (response: ServerResponse, status: number, name: PageName): void => {
  response.writeHead(status, {
    ...commonHeaders,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': pageSecurityPolicy,
    'Content-Length': Buffer.byteLength(pages[name]),
  });
  response.end(pages[name]);
};

export const sendJson = (
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
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

/** An error in the general envelope. */
export const sendError = (
  request: IncomingMessage,
  response: ServerResponse,
  error: Pick<GeneralError, 'statusCode' | 'message' | 'errorType'>,
  headers: Readonly<Record<string, string>> = {},
): void => {
  const body: GeneralError = {
    statusCode: error.statusCode,
    timestamp: new Date().toISOString(),
    path: pathOf(request),
    method: request.method ?? 'GET',
    message: error.message,
    ...(error.errorType && { errorType: error.errorType }),
  };
  sendJson(response, error.statusCode, body, headers);
};

/** A page for those who ask for HTML, the general envelope for everybody else. */
export const sendFailure = (
  request: IncomingMessage,
  response: ServerResponse,
  name: FailureName,
): void => {
  const failure = failures[name];
  if ('retryAfter' in failure) response.setHeader('Retry-After', String(failure.retryAfter));
  if (wantsHtml(request)) {
    sendPage(response, failure.status, name);
    return;
  }
  const { status: statusCode, message } = failure;
  const errorType = 'errorType' in failure ? failure.errorType : undefined;
  sendError(request, response, { statusCode, message, errorType });
};

export const sendRedirect = (response: ServerResponse, location: string): void => {
  response.writeHead(302, {
    Location: location,
    'Cache-Control': 'private, no-store',
    'Referrer-Policy': 'no-referrer-when-downgrade',
    'Content-Length': 0,
  });
  response.end();
};

/** 200 with a small page that names no destination. */
export const sendConcealed = (response: ServerResponse): void => {
  sendPage(response, 200, 'concealed');
};
