import { setImmediate as nextLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { createHealthCheck } from './health-check.js';
import { DependencyFault } from '../platform/dependency-fault.js';
import { createLogger } from '../platform/logging.js';

type Deps = Parameters<typeof createHealthCheck>[0];

const never = (): Promise<never> => new Promise(() => undefined);
const away = (): Promise<never> =>
  Promise.reject(
    Object.assign(new Error('No postgres://me:secret@host'), { code: 'ECONNREFUSED' }),
  );
const fine = (): Promise<void> => Promise.resolve();
const projection = { name: 'redirects', lag: 0, deadLetters: 0, parked: 0 };
const up = { state: 'up' };
const spool = {
  events: 3,
  bytes: 200,
  leftOver: { spools: 1, bytes: 100 },
  setAside: { files: 0, bytes: 0 },
};

const compaction = { waiting: 7 };
const missingEvents = [{ origin: 'spool' as const, topic: 'linklog.visits.v1', events: 2 }];

describe('composition root: health check', () => {
  const check = (deps: Partial<Deps> = {}) =>
    createHealthCheck({
      dependencies: { postgres: fine, log: fine },
      projections: () => Promise.resolve([projection]),
      missingEvents: () => Promise.resolve(missingEvents),
      spool: () => spool,
      compaction: () => Promise.resolve(compaction),
      logger: createLogger('silent'),
      ...deps,
    });

  it('passes with dependencies, projections and spool', async () => {
    expect(await check()()).to.deep.equal({
      status: 'pass',
      dependencies: { postgres: up, log: up, projections: up },
      projections: [projection],
      missingEvents,
      spool,
      compaction,
    });
  });

  for (const [what, postgres, told] of [
    ['cannot be reached', away, { state: 'down', code: 'ECONNREFUSED' }],
    ['does not answer', never, { state: 'down', code: 'TIMEOUT' }],
    ['fails without a code', () => Promise.reject(new Error('Secret')), { state: 'down' }],
    [
      'has a code that is none',
      () => Promise.reject(Object.assign(new Error('No'), { code: 'to me@host' })),
      { state: 'down' },
    ],
  ] as const) {
    it(`fails, and does not reject, when a dependency ${what}`, async () => {
      expect(await check({ dependencies: { postgres, log: fine } })()).to.deep.equal({
        status: 'fail',
        dependencies: { postgres: told, log: up, projections: up },
        projections: [projection],
        missingEvents,
        spool,
        compaction,
      });
    });
  }

  it('fails with the detail of a fault, and passes with that of a degraded dependency', async () => {
    const faulty = (severity?: 'degraded') => () =>
      Promise.reject(new DependencyFault('LOG_CUT', 'visits/3 begins at offset 5', severity));
    const shown = { code: 'LOG_CUT', detail: 'visits/3 begins at offset 5' };
    for (const [severity, status, state] of [
      [undefined, 'fail', 'down'],
      ['degraded', 'pass', 'up'],
    ] as const) {
      const dependencies = { postgres: fine, log: faulty(severity) };
      expect(await check({ dependencies })()).to.deep.include({
        status,
        dependencies: { postgres: up, log: { state, ...shown }, projections: up },
      });
    }
  });

  it('fails when the projections cannot be told', async () => {
    expect(await check({ projections: away })()).to.deep.equal({
      status: 'fail',
      dependencies: {
        postgres: up,
        log: up,
        projections: { state: 'down', code: 'ECONNREFUSED' },
      },
      projections: [],
      missingEvents,
      spool,
      compaction,
    });
  });

  it('passes while it is unknown which events are missing', async () => {
    const report = await check({ missingEvents: away })();
    expect(report).to.deep.include({ status: 'pass', missingEvents: null });
  });

  it('passes while an optional dependency is down, and reports it', async () => {
    expect(await check({ optional: { redis: away } })()).to.deep.include({
      status: 'pass',
      dependencies: {
        postgres: up,
        log: up,
        redis: { state: 'down', code: 'ECONNREFUSED' },
        projections: up,
      },
    });
    const both = { dependencies: { postgres: away }, optional: { redis: fine } };
    expect((await check(both)()).status).to.equal('fail');
  });

  it('waits for all dependencies at the same time', async () => {
    let queried = 0;
    const silent = (): Promise<never> => {
      queried += 1;
      return never();
    };
    const report = check({ dependencies: { one: silent, two: silent, three: silent } })();
    await nextLoop();
    expect(queried).to.equal(3);
    await report;
  });

  it('passes again when every dependency is back', async () => {
    let dependency: () => Promise<unknown> = away;
    const ask = check({ dependencies: { redis: () => dependency() } });
    expect((await ask()).status).to.equal('fail');
    dependency = fine;
    while ((await ask()).status === 'fail') await new Promise(setImmediate);
    expect((await ask()).dependencies['redis']).to.deep.equal(up);
  });

  it('looks once for requests at about the same time', async () => {
    let looks = 0;
    const ask = check({
      dependencies: {
        postgres: () => {
          looks += 1;
          return Promise.resolve();
        },
      },
    });
    const reports = await Promise.all([ask(), ask(), ask()]);
    await ask();
    expect(looks).to.equal(1);
    expect(new Set(reports).size).to.equal(1);
  });
});
