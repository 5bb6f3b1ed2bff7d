import { expect } from 'chai';
import { originFormOf } from '../../../http/refusal.js';
import { generalError } from '../../../../schemas/http/errors.js';
import { healthResponse } from '../../../../schemas/http/health.js';
import type { RawResponse } from '../../support/raw-http.js';
import type { HostileRequest } from './requests.js';

/** Internals: stack frames, files, modules, queries, error messages of JavaScript. */
const internals =
  /\bat [\w.<>]+ \(|node:|node_modules|\/dist\/|\.[jt]s:\d|postgres(?:ql)?:|\bSELECT\b|\b\w+Error:|\[object |undefined\b/;

/** Images, metrics, exports, pages and documents. */
const fileTypes =
  /^(?:image\/(?:png|svg\+xml)|(?:text\/(?:plain|csv|html|css|javascript)|application\/x-ndjson).*)/;

const expectJson = ({ status, body }: RawResponse): void => {
  const json = JSON.parse(body.toString('utf8')) as { statusCode?: number; path?: string };
  if (status >= 400) expect(json.statusCode).to.equal(status);
  if (json.path !== undefined) {
    expect(json.path, 'path without query').to.not.include('?');
    generalError.parse(json);
  }
};

/** @throws if a response has an undocumented status, a foreign destination, or internals */
export const expectHarmless = (
  request: HostileRequest,
  response: RawResponse,
  destinations: ReadonlySet<string>,
): void => {
  const { status, headers, body } = response;
  const [path = ''] = originFormOf(request.target).split('?');
  expect(headers.get('x-content-type-options')).to.equal('nosniff');
  // On a busy machine, a dependency may miss the deadline of readiness.
  if (status === 503 && path === '/health/ready') {
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
  // A browser must not prompt for credentials on the 401 of a password form.
  if (status === 401 && request.listener !== 'edge') {
    expect(headers.get('www-authenticate')).to.equal('Bearer');
  }
  if (body.length === 0) return;
  const documents = /^\/(?:(?:openapi|asyncapi)\.json|docs|console\/assets)/;
  if (request.listener !== 'edge' && status === 200 && documents.test(path)) return;
  const type = headers.get('content-type') ?? '';
  if (!type.startsWith('image/')) expect(body.toString('utf8')).to.not.match(internals);
  if (type === 'application/json; charset=utf-8') expectJson(response);
  else expect(type).to.match(fileTypes);
};
