import { expect } from 'chai';
import { z } from 'zod';
import * as consoleBodies from '../../../../schemas/http/console.js';
import * as domainBodies from '../../../../schemas/http/domains.js';
import {
  generalError,
  messages,
  monthlyLimitError,
  planError,
  scopeError,
  unauthorizedError,
} from '../../../../schemas/http/errors.js';
import { eventsResponse } from '../../../../schemas/http/events.js';
import { healthResponse } from '../../../../schemas/http/health.js';
import { historyResponse } from '../../../../schemas/http/history.js';
import * as importBodies from '../../../../schemas/http/imports.js';
import * as keyBodies from '../../../../schemas/http/keys.js';
import * as operatorBodies from '../../../../schemas/http/operators.js';
import * as projectionBodies from '../../../../schemas/http/projections.js';
import { statsResponse } from '../../../../schemas/http/statistics.js';
import * as webhookBodies from '../../../../schemas/http/webhooks.js';
import { originFormOf } from '../../../http/refusal.js';
import type { Document } from '../../support/openapi.js';
import type { RawResponse } from '../../support/raw-http.js';
import { isWhole, type HostileRequest } from './requests.js';

/** Documented shapes, with no field more. */
const anyOf = (...schemas: readonly unknown[]): z.ZodType =>
  z.union(
    schemas.filter((schema) => schema instanceof z.ZodObject).map((schema) => schema.strict()),
  );

const errors = anyOf(generalError, unauthorizedError, scopeError, planError, monthlyLimitError);

/** Successful responses of the admin listener, and the health of the edge. */
const undocumentedSuccesses = anyOf(
  ...[healthResponse, z.object({ status: z.literal('pass') }), statsResponse, historyResponse],
  eventsResponse,
  ...[consoleBodies, domainBodies, importBodies, keyBodies, operatorBodies].flatMap(
    (bodies): unknown[] => Object.values(bodies),
  ),
  ...[projectionBodies, webhookBodies].flatMap((bodies): unknown[] => Object.values(bodies)),
);

/** Successful responses of /console/session on the API's listener. */
const { consoleSession, consoleChanges, sessionList } = consoleBodies;
const developersSession = anyOf(consoleSession, consoleChanges, sessionList);

/** Internals: stack frames, files, modules, queries, error messages of JavaScript. */
const internals =
  /\bat [\w.<>]+ \(|node:|node_modules|\/dist\/|\.[jt]s:\d|postgres(?:ql)?:|\bSELECT\b|\b\w+Error:|\[object |undefined\b/;

/** Messages of the HTTP server itself, before authentication. */
const beforeAdmission: ReadonlySet<unknown> = new Set([
  messages.badRequest,
  messages.headersTooLarge,
]);

const rateLimitHeaders = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-api-key-name',
];

const expectJson = ({ status, body }: RawResponse, schema: z.ZodType): { message?: unknown } => {
  const json = JSON.parse(body.toString('utf8')) as {
    statusCode?: number;
    path?: string;
    message?: unknown;
  };
  const { success } = schema.safeParse(json);
  expect(success, `undocumented body: ${JSON.stringify(json).slice(0, 500)}`).to.equal(true);
  if (status >= 400) expect(json.statusCode).to.equal(status);
  if (json.path !== undefined) expect(json.path, 'path without query').to.not.include('?');
  return json;
};

/** Types of images, metrics and exports. */
const fileTypes =
  /^(?:image\/(?:png|svg\+xml)(?:; charset=utf-8)?|(?:text\/(?:plain|csv)|application\/x-ndjson).*)$/;

/** Expects a page, a session, a file, or the response of the same call without a session. */
const expectConsoleResponse = (
  document: Document,
  request: HostileRequest,
  path: string,
  response: RawResponse,
): void => {
  const type = response.headers.get('content-type') ?? '';
  if (type === 'text/html; charset=utf-8') {
    expect(response.body.toString('utf8')).to.match(/^<!doctype html>/i);
  } else if (/^\/console\/v2\//i.test(path)) {
    // The console creates QR codes by POST.
    const isQr = path.startsWith('/console/v2/qr/');
    const method = isQr && request.method === 'POST' ? 'GET' : request.method;
    expectInDocument(document, method, path.replace(/^\/console/i, ''), response);
  } else if (!fileTypes.test(type)) {
    expectJson(response, request.listener === 'api' ? developersSession : undocumentedSuccesses);
  }
};

const isConsolePath = (path: string): boolean => /^\/console(?:\/|$)/.test(path);

/** Expects the operation and the response in the OpenAPI document. */
const expectInDocument = (
  document: Document,
  method: string,
  path: string,
  { status, headers, body }: RawResponse,
): void => {
  const documented = document.pathOf(path);
  if (documented === undefined) throw new Error(`${path} is not in the OpenAPI document`);
  const text = body.toString('utf8');
  document.expectDescribed(method, documented, {
    status,
    headers: Object.fromEntries(headers),
    text,
    json: () => JSON.parse(text) as unknown,
  });
};

/** @throws if a response violates the contract */
export const expectDocumented = (
  request: HostileRequest,
  response: RawResponse,
  { destinations, document }: { destinations: ReadonlySet<string>; document: Document },
): void => {
  const { status, headers, body } = response;
  const target = originFormOf(request.target);
  expect(headers.get('x-content-type-options')).to.equal('nosniff');
  // On a busy machine, a dependency may miss the deadline of readiness.
  if (status === 503 && target.split('?')[0] === '/health/ready') {
    if (body.length > 0) healthResponse.parse(JSON.parse(body.toString('utf8')));
    return;
  }
  expect(status).to.be.within(200, 499);
  const location = headers.get('location');
  if (status === 302 || status === 303) {
    expect(body).to.have.length(0);
    // `/` leads browsers to the console of the listener.
    if (request.listener !== 'edge') expect([status, location]).to.deep.equal([302, '/console']);
    else expect(destinations.has(location ?? ''), location).to.equal(true);
    return;
  }
  expect(location).to.equal(undefined);
  if (request.listener === 'edge') expect(headers.get('cache-control')).to.match(/no-store/);
  if (status === 405) expect(headers.get('allow')).to.match(/^[A-Z]+(?:, [A-Z]+)*$/);
  if (status === 401) expectChallenge(request, response);
  let message: unknown = null;
  if (body.length > 0) {
    const type = headers.get('content-type') ?? '';
    if (type.startsWith('image/')) expect(status).to.equal(200);
    else expect(body.toString('utf8')).to.not.match(internals);
    const documents = request.listener === 'api' && status === 200;
    if (documents && /^\/(?:(?:openapi|asyncapi)\.json|docs|favicon\.ico)/.test(target)) return;
    const [path = ''] = target.split('?');
    if (request.listener !== 'edge' && status < 300 && isConsolePath(path)) {
      expectConsoleResponse(document, request, path, response);
    } else if (request.listener === 'api' && status < 300) {
      expectInDocument(document, request.method, path, response);
    } else if (type === 'application/json; charset=utf-8') {
      ({ message } = expectJson(response, status < 400 ? undocumentedSuccesses : errors));
    } else if (type === 'text/html; charset=utf-8') {
      expect(request.listener).to.equal('edge');
      expect(body.toString('utf8')).to.match(/^<!doctype html>/i);
    } else expect(type).to.match(fileTypes);
  }
  if (request.listener !== 'api' || request.key === null || !isWhole(request)) return;
  if (!/^\/v2\/[a-z]/.test(target) || request.method === 'HEAD') return;
  if (beforeAdmission.has(message)) return;
  for (const name of rateLimitHeaders) expect(headers.has(name), name).to.equal(true);
};

const expectChallenge = (request: HostileRequest, { headers }: RawResponse): void => {
  // A browser must not prompt for credentials on the 401 of a password form.
  if (request.listener === 'edge') return;
  expect(headers.get('www-authenticate')).to.equal('Bearer');
};
