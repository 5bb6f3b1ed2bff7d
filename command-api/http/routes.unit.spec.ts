import { expect } from 'chai';
import { createV2, v2Routes, type V2Deps, type V2Route } from './routes.js';

// Handlers read their other dependencies when they are called.
const deps = { activeDomains: {} } as V2Deps;

const routes = v2Routes(deps);
const pathOf = ({ path }: V2Route): string => `/v2${path.replace(/:\w+/g, 'spring')}`;

describe('command API: routes under /v2', () => {
  it('need the log, except GET, also on unknown paths', () => {
    const { requirementsOf } = createV2(deps, routes);
    for (const route of routes) {
      const { writes } = requirementsOf(route.method, pathOf(route));
      expect(writes, `${route.method} ${route.path}`).to.equal(route.method !== 'GET');
    }
    expect(requirementsOf('POST', '/v2/nothing').writes).to.equal(true);
    expect(requirementsOf('GET', '/v2/nothing').writes).to.equal(false);
  });

  it('need the log with GET and HEAD only if `writes` is set', () => {
    const handler: V2Route['handler'] = () => {
      throw new Error('the handler was called');
    };
    const { requirementsOf } = createV2(deps, [
      { method: 'GET', path: '/links/:code', scope: null, handler },
      { method: 'GET', path: '/spent/:code', scope: null, handler, writes: true },
    ]);
    for (const method of ['GET', 'HEAD']) {
      expect(requirementsOf(method, '/v2/links/spring').writes, method).to.equal(false);
      expect(requirementsOf(method, '/v2/spent/spring').writes, method).to.equal(true);
    }
  });

  it('cost a monthly call, except usage and keys', () => {
    const { requirementsOf } = createV2(deps, routes);
    const free = routes.filter((route) => !requirementsOf(route.method, pathOf(route)).metered);
    const paths = new Set(free.map(({ path }) => path));
    expect([...paths]).to.deep.equal(['/usage', '/keys', '/keys/:id', '/keys/:id/rotate']);
    expect(requirementsOf('POST', '/v2/usage').metered).to.equal(false);
    expect(requirementsOf('GET', '/v2/nothing').metered).to.equal(true);
  });
});
