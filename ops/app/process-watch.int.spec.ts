import { expect } from 'chai';
import { pino } from 'pino';
import { newId } from '../platform/new-id.js';
import { createMetrics } from '../platform/metrics/metrics.js';
import { DependencyFault } from '../platform/errors.js';
import { clockedDatabase } from '../test/support/clock.js';
import { fixture } from '../test/support/fixture.js';
import { rejection } from '../test/support/waiting.js';
import { createProcessWatch } from './process-watch.js';

const day = 86_400;

describe('composition root: the watch on the processes of an installation', () => {
  const database = fixture(
    () => clockedDatabase('process_watch'),
    (clocked) => clocked.drop(),
    { needs: ['faketime'] },
  );
  let time: number;
  let lines: { readonly level: number; readonly msg: string; readonly seconds?: number }[];
  let metrics: ReturnType<typeof createMetrics>;
  let watch: ReturnType<typeof createProcessWatch>;

  beforeEach(async () => {
    await database.pool.query('TRUNCATE public.processes');
    [time, lines, metrics] = [0, [], createMetrics()];
    const write = (line: string): void => {
      lines.push(JSON.parse(line) as (typeof lines)[number]);
    };
    const logger = pino({ level: 'info' }, { write });
    watch = createProcessWatch({ pool: database.pool, metrics, logger, now: () => time });
  });

  const register = (services: string, ageSeconds = 0) =>
    database.pool.query(
      `INSERT INTO public.processes (id, version, generation, services, host, pid, started_at, last_seen_at)
       VALUES ($1, '1', 1, $2, 'host', 1, now(), clock_timestamp() - make_interval(secs => $3))`,
      [newId(), services, ageSeconds],
    );

  const figure = async (name: string): Promise<number> => {
    const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  };
  const counts = () =>
    Promise.all(
      ['api', 'edge', 'projectors'].map((service) =>
        figure(`linklog_processes{service="${service}"}`),
      ),
    );

  it('counts the processes with each service that were seen in the last 15 s', async () => {
    await register('api, edge, projectors');
    await register('edge', 14);
    await register('edge', 16);
    await watch.check();
    expect(await counts()).to.deep.equal([1, 2, 1]);
    await database.pool.query('TRUNCATE public.processes');
    await watch.check();
    expect(await counts()).to.deep.equal([0, 0, 0]);
  });

  /** Checks every 5 s. */
  const checkFor = async (seconds: number): Promise<void> => {
    for (const end = time + seconds * 1_000; time < end;) {
      time += 5_000;
      await watch.check();
    }
  };

  it('reports that there was no projector for 30 s, until one is registered', async () => {
    await register('api');
    await watch.check();
    await checkFor(25);
    await watch.requireProjectors();
    await checkFor(5);
    const fault = await rejection(watch.requireProjectors());
    expect(fault).to.be.instanceOf(DependencyFault);
    expect(fault).to.include({ code: 'NO_PROJECTOR', message: 'no projector for 30 s' });
    await register('projectors');
    await checkFor(5);
    await watch.requireProjectors();
  });

  it('does not report projectors that could not register during an outage of PostgreSQL', async () => {
    await register('projectors', 100);
    await watch.check();
    time += 60_000;
    await watch.check();
    await watch.requireProjectors();
  });

  it('measures how far the clock of this machine is ahead, and logs it once above 5 s', async () => {
    await watch.check();
    expect(await figure('linklog_clock_skew_seconds')).to.be.within(-1, 1);
    for (const offset of [2 * day, -2 * day]) {
      await database.setClockOffset(offset);
      await watch.check();
      await watch.check();
      expect(await figure('linklog_clock_skew_seconds')).to.be.within(-offset - 5, -offset + 5);
    }
    await database.setClockOffset(0);
    await watch.check();
    expect(lines.map(({ level, msg }) => [level, msg])).to.deep.equal([
      [50, "the clock of this machine differs from PostgreSQL's"],
      [30, "the clock of this machine agrees with PostgreSQL's again"],
    ]);
  });
});
