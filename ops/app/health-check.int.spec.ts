import { expect } from 'chai';
import { DependencyFault } from '../platform/errors.js';
import { createLogger } from '../platform/logging.js';
import { createHealthCheck } from './health-check.js';

type Deps = Parameters<typeof createHealthCheck>[0];

const never = (): Promise<never> => new Promise(() => undefined);
const failing =
  (code?: string): (() => Promise<never>) =>
  () =>
    Promise.reject(Object.assign(new Error('No postgres://me:secret@host'), { code }));
const unreachable = failing('ECONNREFUSED');
const fine = (): Promise<void> => Promise.resolve();

const up = { state: 'up' };
const down = { state: 'down', code: 'ECONNREFUSED' };
const projections = [{ name: 'redirects', lag: 0, deadLetters: 0, parked: 0 }];
const missingEvents = [{ origin: 'spool' as const, topic: 'linklog.visits.v1', events: 2 }];
const compaction = { waiting: 7 };
const maintenance = { since: '2026-11-28T12:00:00.000Z' };
const spool = {
  ...{ events: 3, bytes: 200 },
  ...{ leftOver: { spools: 1, bytes: 100 }, setAside: { files: 0, bytes: 0 } },
};

describe('composition root: health check', () => {
  const check = (deps: Partial<Deps> = {}) =>
    createHealthCheck({
      dependencies: { postgres: fine, log: fine },
      projections: () => Promise.resolve(projections),
      missingEvents: () => Promise.resolve(missingEvents),
      spool: () => spool,
      compaction: () => Promise.resolve(compaction),
      maintenance: () => Promise.resolve(maintenance),
      isDraining: () => false,
      logger: createLogger('silent'),
      ...deps,
    });

  it('passes with dependencies, projections and spool', async () => {
    expect(await check()()).to.deep.equal({
      status: 'pass',
      dependencies: { postgres: up, log: up, projections: up },
      ...{ projections, missingEvents, spool, compaction, maintenance },
    });
  });

  const fault = (severity?: 'degraded') => () =>
    Promise.reject(new DependencyFault('LOG_CUT', 'visits/3 begins at offset 5', severity));
  const shown = { code: 'LOG_CUT', detail: 'visits/3 begins at offset 5' };
  for (const [failure, postgres, reported, status] of [
    ['is unreachable', unreachable, down, 'fail'],
    ['does not respond', never, { state: 'down', code: 'TIMEOUT' }, 'fail'],
    ['fails without a code', failing(), { state: 'down' }, 'fail'],
    ['fails with an invalid code', failing('to me@host'), { state: 'down' }, 'fail'],
    ['has a fault', fault(), { state: 'down', ...shown }, 'fail'],
    ['is degraded', fault('degraded'), { state: 'up', ...shown }, 'pass'],
  ] as const) {
    it(`reports ${status} if a dependency ${failure}`, async () => {
      expect(await check({ dependencies: { postgres, log: fine } })()).to.deep.include({
        status,
        dependencies: { postgres: reported, log: up, projections: up },
      });
    });
  }

  it('fails if the projections cannot be read', async () => {
    expect(await check({ projections: unreachable })()).to.deep.include({
      ...{ status: 'fail', projections: [] },
      dependencies: { postgres: up, log: up, projections: down },
    });
  });

  it('passes while it is unknown which events are missing, or an optional dependency is down', async () => {
    const report = await check({ missingEvents: unreachable })();
    expect(report).to.deep.include({ status: 'pass', missingEvents: null });
    expect(await check({ optional: { redis: unreachable } })()).to.deep.include({
      status: 'pass',
      dependencies: { postgres: up, log: up, redis: down, projections: up },
    });
    const dependencies = { dependencies: { postgres: unreachable }, optional: { redis: fine } };
    expect((await check(dependencies)()).status).to.equal('fail');
  });

  it('reports `draining` as soon as the process drains, whatever the dependencies', async () => {
    let isDraining = false;
    const readHealth = check({ isDraining: () => isDraining });
    expect((await readHealth()).status).to.equal('pass');
    isDraining = true;
    const { status, dependencies } = await readHealth();
    expect([status, dependencies['postgres']]).to.deep.equal(['draining', up]);
    const unavailable = { dependencies: { postgres: unreachable }, isDraining: () => true };
    expect((await check(unavailable)()).status).to.equal('draining');
  });

  it('caches the report for concurrent requests', async () => {
    let checks = 0;
    const postgres = (): Promise<number> => Promise.resolve((checks += 1));
    const readHealth = check({ dependencies: { postgres } });
    const reports = await Promise.all([readHealth(), readHealth(), readHealth()]);
    await readHealth();
    expect(checks).to.equal(1);
    expect(new Set(reports).size).to.equal(1);
  });
});
