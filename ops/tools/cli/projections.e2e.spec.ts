import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { projections } from '../../../projectors/projections.js';
import { shareSchema } from '../../../projectors/runtime/checkpoints.js';
import {
  liveSchema,
  projectionNames,
  type ProjectionName,
} from '../../../projectors/runtime/projection.js';
import { dump } from '../../../projectors/testing/tables.js';
import { platformSubject } from '../../../schemas/folds/platform.js';
import { topics } from '../../../schemas/events/topics.js';
import { blocked, created, recordOf } from '../../../schemas/testing/events.js';
import { openEventLog } from '../../app/event-log.js';
import { readConfig } from '../../config/config.js';
import { createLogger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import { startLinklogCli } from '../../test/support/process.js';
import { sendRequest } from '../../test/support/http.js';
import { eventually } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

describe('CLI: command line, on a running service', () => {
  const { service, linklog, text, json, createKey, expectFailure, shorten, visit, projected } =
    onService();

  describe('projections', () => {
    it('report their lag', async () => {
      await projected();
      const none = { lag: 0, deadLetters: 0, parked: 0 };
      expect(await json('projections', 'status')).to.deep.equal({
        projections: projectionNames.map((name) => ({ name, ...none })),
      });
      expect((await text('projections', 'status')).split('\n')).to.deep.equal([
        'PROJECTION  LAG  DEAD LETTERS  PARKED',
        ...projectionNames.map((name) => `${name.padEnd(10)}    0             0       0`),
        '',
      ]);
    });

    it('are rebuilt while the service runs, with the same rows', async () => {
      const { key } = await createKey('PRO');
      const codes: string[] = [];
      for (let index = 0; index < 5; index += 1) codes.push(await shorten(key));
      for (const code of codes) for (let index = 0; index < 4; index += 1) await visit(code);
      await projected();

      /** Without the rebuilds, which are recorded as events of the platform. */
      const rowsOf = async (name: ProjectionName): ReturnType<typeof dump> => {
        const tables = Object.entries(await dump(service().pool, liveSchema(name)));
        const isCompared = (row: string): boolean =>
          !row.includes(topics.platform.name) && !row.startsWith(`(${platformSubject},`);
        return Object.fromEntries(tables.map(([table, rows]) => [table, rows.filter(isCompared)]));
      };

      for (const { name } of projections) {
        let before: Awaited<ReturnType<typeof dump>> = {};
        let after = before;
        // Calls become an event when their minute is over: repeat a rebuild during which an event arrived.
        await eventually('no event comes during a rebuild', async () => {
          before = await rowsOf(name);
          const output = await linklog('projections', 'rebuild', name, '--yes');
          expect(output.exitCode, output.stderr).to.equal(0);
          expect(output.stdout).to.match(
            new RegExp(`^Rebuilt ${name}: \\d+ events in \\d+\\.\\d\\d s\\n$`),
          );
          expect(output.stderr).to.match(new RegExp(`^${name}: 0 of \\d+ events \\(0 %\\)\n`));
          after = await rowsOf(name);
          return isDeepStrictEqual(after['checkpoints'], before['checkpoints']);
        });
        expect(after).to.deep.equal(before);
      }

      const [code = ''] = codes;
      await visit(code);
      await visit(await shorten(key));
      const clicks = async (): Promise<number> => {
        const response = await sendRequest(`${service().product.api}/v2/stats/${code}`, {
          headers: { Authorization: `Bearer ${key}` },
        });
        return (response.json() as { clickCount: number }).clickCount;
      };
      await eventually('the clicks are counted', async () => (await clicks()) === 5);
      await projected();
    });

    it('report events and seconds as JSON', async () => {
      await projected();
      const { exitCode, stdout } = await linklog(
        'projections',
        'rebuild',
        'stats',
        '--yes',
        '--json',
      );
      const result = JSON.parse(stdout) as Record<string, number>;
      expect(exitCode).to.equal(0);
      expect(result).to.include({ projection: 'stats', repeats: 0, deadLetters: 0, parked: 0 });
      expect(result['events']).to.be.above(0).and.to.equal(result['applied']);
      expect(result['seconds']).to.be.within(0, 60);
    });

    it('are rolled back, and rolled back again, by operators and analysts while the service runs', async () => {
      const { key } = await createKey('PRO');
      const code = await shorten(key);
      await expectFailure(
        ['audit', 'rebuild', 'history', '--rollback', '--nothing'],
        2,
        'unknown option \'--nothing\'; see "linklog --help"',
      );
      await projected();
      await linklog('audit', 'rebuild', 'stats', '--yes');
      const clicks = async (): Promise<number> => {
        const headers = { Authorization: `Bearer ${key}` };
        const response = await sendRequest(`${service().product.api}/v2/stats/${code}`, {
          headers,
        });
        return (response.json() as { clickCount: number }).clickCount;
      };
      for (const [index, group] of ['projections', 'audit'].entries()) {
        await visit(code);
        await eventually('the clicks are counted', async () => (await clicks()) === index + 1);
        const output = await linklog(group, 'rebuild', 'stats', '--rollback', '--yes');
        expect(output.exitCode, output.stderr).to.equal(0);
        expect(output.stdout).to.match(
          /^Rolled back stats, after catching up with \d+ events?, in \d+\.\d\d s\n$/,
        );
        expect(await clicks()).to.equal(index + 1);
      }
    }).timeout(60_000);

    it('are rebuilt with DATABASE_URL and another DATA_DIR', async () => {
      const args = ['projections', 'rebuild', 'quotas', '--yes', '--json'];
      const elsewhere = {
        ...service().env,
        DATA_DIR: '/nowhere',
        DATABASE_URL: service().databaseUrl,
      };
      const { exitCode, stdout } = await startLinklogCli(args, elsewhere).ended;
      expect([exitCode, JSON.parse(stdout)]).to.have.nested.property('[1].projection', 'quotas');
      expect(exitCode).to.equal(0);
    });

    describe('at Ctrl-C', () => {
      /** Holds the lock of a live batch. */
      const whileSwapIsBlocked = async (work: () => Promise<void>): Promise<void> => {
        const client = await service().pool.connect();
        try {
          await client.query('BEGIN');
          await client.query(shareSchema('stats'));
          await work();
        } finally {
          await client.query('ROLLBACK');
          client.release();
        }
      };

      const isWaiting = async (): Promise<boolean> => {
        const { rows } = await service().pool.query(
          "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        );
        return rows.length > 0;
      };

      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        it(`(${signal}) remain unchanged`, async () => {
          await projected();
          const before = await dump(service().pool, 'projection_stats');
          const args = ['projections', 'rebuild', 'stats', '--yes', '--json'];
          const { child, ended } = startLinklogCli(args, service().env);
          await whileSwapIsBlocked(async () => {
            await eventually('the command waits', isWaiting);
            child.kill(signal);
            await sleep(50);
            child.kill(signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT');
            await sleep(50);
          });
          const { exitCode, stdout, stderr } = await ended;
          expect([exitCode, stdout]).to.deep.equal([130, '']);
          expect(stderr.trimEnd().split('\n').at(-1)).to.equal(
            'linklog: the rebuild was stopped; the live projection stats is unchanged',
          );
          expect(await dump(service().pool, 'projection_stats')).to.deep.equal(before);
          const { rows } = await service().pool.query(
            "SELECT FROM pg_namespace WHERE nspname = 'projection_stats_next'",
          );
          expect(rows).to.be.empty;
        });
      }

      it('twice are consistent, and the process exits immediately', async () => {
        await projected();
        const before = await dump(service().pool, 'projection_stats');
        const args = ['projections', 'rebuild', 'stats', '--yes'];
        const { child, ended } = startLinklogCli(args, service().env);
        await whileSwapIsBlocked(async () => {
          await eventually('the command waits', isWaiting);
          child.kill('SIGINT');
          await sleep(600);
          child.kill('SIGINT');
          const { exitCode, stderr } = await ended;
          expect(exitCode).to.equal(130);
          expect(stderr).to.match(/the rebuild was killed; the projection stats is consistent/);
        });
        expect(await dump(service().pool, 'projection_stats')).to.deep.equal(before);
        expect((await linklog('projections', 'rebuild', 'stats', '--yes')).exitCode).to.equal(0);
      });
    });

    it('show and redrive dead letters and parked events', async () => {
      expect(await text('projections', 'redrive', 'redirects')).to.equal(
        'There are no dead letters of redirects\n',
      );
      const { pool, databaseUrl, env } = service();
      const logger = createLogger('silent');
      const listener = listenToPostgres(databaseUrl, ['linklog_log', 'linklog_sent'], logger);
      const opened = await openEventLog(readConfig(env), {
        ...{ pool, url: databaseUrl, listener, logger },
        user: 'command',
      });
      // The limit exceeds the range of the column; the next event is parked.
      const events = [created('poison', { maxClicks: 3_000_000_000 }), blocked('poison', 2)];
      await opened.log.append('linklog.links.v1', events.map(recordOf));
      await opened.close();
      await listener.close();
      await projected();

      const row = /^redirects +0 +1 +1$/m;
      await eventually('the dead letter is shown', async () =>
        row.test(await text('projections', 'status')),
      );
      expect(await text('projections', 'redrive', 'redirects')).to.equal(
        'Redrove redirects: 0 applied, 0 repeats dropped, 2 still set aside\n',
      );
      expect(await json('projections', 'redrive', 'redirects')).to.deep.equal({
        projection: 'redirects',
        applied: 0,
        repeats: 0,
        remaining: 2,
      });
      const rebuilt = await linklog('projections', 'rebuild', 'redirects', '--yes');
      expect(rebuilt.stdout).to.match(/ s; set aside: 1 dead letter, 1 parked\n$/);
    });
  });
});
