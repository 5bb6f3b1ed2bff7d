import { expect } from 'chai';
import { createHealthCheck } from './health-check.js';
import { createLogger } from './platform/logging.js';

type Deps = Parameters<typeof createHealthCheck>[0];

const never = new Promise<never>(() => undefined);
const projection = { name: 'redirects', lag: 0, deadLetters: 0, parked: 0 };

describe('the health check', () => {
  const check = (
    deps: Partial<Omit<Deps, 'postgres'>> & { readonly query?: () => unknown } = {},
  ) => {
    const { query = () => Promise.resolve(), ...others } = deps;
    return createHealthCheck({
      postgres: { query } as unknown as Deps['postgres'],
      projections: () => Promise.resolve([projection]),
      spool: () => ({ events: 3, bytes: 200 }),
      logger: createLogger('silent'),
      ...others,
    });
  };

  it('passes with everything that there is to tell', async () => {
    expect(await check()()).to.deep.equal({
      status: 'pass',
      dependencies: { postgres: 'up', log: 'up' },
      projections: [projection],
      spool: { events: 3, bytes: 200 },
    });
  });

  const away = () => Promise.reject(new Error('Away'));
  for (const [what, deps] of [
    ['PostgreSQL cannot be reached', { query: away }],
    ['PostgreSQL does not answer', { query: () => never }],
    ['the projections cannot be told', { projections: away }],
  ] as const) {
    it(`fails, and does not reject, when ${what}`, async () => {
      const begin = performance.now();
      const report = await check(deps)();
      expect(report).to.deep.include({
        status: 'fail',
        dependencies: { postgres: 'down', log: 'down' },
        spool: { events: 3, bytes: 200 },
      });
      // The contract's 2 s, with room for a busy machine.
      expect(performance.now() - begin).to.be.below(3_000);
    });
  }

  it('looks once for all who ask at about the same time', async () => {
    let looks = 0;
    const ask = check({
      query: () => {
        looks += 1;
        return Promise.resolve();
      },
    });
    const reports = await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(looks).to.equal(1);
    expect(new Set(reports).size).to.equal(1);
  });
});
