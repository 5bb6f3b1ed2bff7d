import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { shareSchema } from '../../../projectors/runtime/checkpoints.js';
import { projectionNames } from '../../../projectors/projections.js';
import { dump } from '../../../projectors/testing/tables.js';
import { topics } from '../../../schemas/events/topics.js';
import { blocked, created, recordOf } from '../../../schemas/testing/events.js';
import { openEventLog } from '../../app/event-log.js';
import { readConfig } from '../../config/config.js';
import { createLogger } from '../../platform/logging.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import type { CommandOutput } from '../../test/support/process.js';
import { eventually } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog projections, on a running service', () => {
  // The tests stop commands, and leave dead letters: other specs cannot share the product.
  const { bench, service, startLinklog, text, json, createKey, ...more } = onService('own');
  const { projected } = more;

  /** Runs a command that prints its progress. */
  const run = (...args: readonly string[]): Promise<CommandOutput> => startLinklog(args).ended;

  const rebuild = async (name: string, ...options: readonly string[]): Promise<CommandOutput> => {
    const output = await run('projections', 'rebuild', name, '--yes', ...options);
    expect(output.exitCode, output.stderr).to.equal(0);
    return output;
  };

  const statistics = () => dump(service.pool, 'projection_stats');

  it('reports the lag', async () => {
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

  it('rebuilds a projection while the service runs', async () => {
    const { key } = await createKey('PRO');
    const { shortCode } = await bench.link(key);
    await bench.visit(shortCode);
    await projected();
    const { stdout, stderr } = await rebuild('stats');
    expect(stdout).to.match(/^Rebuilt stats: \d+ events in \d+\.\d\d s\n$/);
    expect(stderr).to.match(/^stats: 0 of \d+ events \(0 %\)\n/);
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, key, 2);
  });

  it('rolls a projection back, and back again, by operators and analysts', async () => {
    const { key } = await createKey('PRO');
    const { shortCode } = await bench.link(key);
    await projected();
    await rebuild('stats');
    for (const [index, group] of ['projections', 'audit'].entries()) {
      await bench.visit(shortCode);
      await bench.expectClicks(shortCode, key, index + 1);
      const output = await run(group, 'rebuild', 'stats', '--rollback', '--yes');
      expect(output.exitCode, output.stderr).to.equal(0);
      expect(output.stdout).to.match(
        /^Rolled back stats, after catching up with \d+ events?, in \d+\.\d\d s\n$/,
      );
      expect((await bench.stats(shortCode, key)).clickCount).to.equal(index + 1);
    }
  });

  /** Holds the lock of a live batch until a rebuild waits for it and `work` has ended. */
  const whileSwapIsBlocked = async (work: () => Promise<void>): Promise<void> => {
    const client = await service.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(shareSchema('stats'));
      await work();
    } finally {
      // Closes the connection, which may be lost.
      client.release(true);
    }
  };

  const untilRebuildWaits = (): Promise<void> =>
    eventually('a session waits for the advisory lock', async () => {
      const { rows } = await service.pool.query(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
      );
      return rows.length > 0;
    });

  it('leaves the live projection unchanged at a signal', async () => {
    await projected();
    const before = await statistics();
    const args = ['projections', 'rebuild', 'stats', '--yes', '--json'];
    const { child, ended } = startLinklog(args);
    await whileSwapIsBlocked(async () => {
      await untilRebuildWaits();
      // A second signal that follows immediately is a repeat of the first.
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        child.kill(signal);
        await sleep(50);
      }
    });
    const { exitCode, stdout, stderr } = await ended;
    expect([exitCode, stdout]).to.deep.equal([130, '']);
    expect(stderr.trimEnd().split('\n').at(-1)).to.equal(
      'linklog: the rebuild was stopped; the live projection stats is unchanged',
    );
    expect(await statistics()).to.deep.equal(before);
    const { rows } = await service.pool.query(
      "SELECT FROM pg_namespace WHERE nspname = 'projection_stats_next'",
    );
    expect(rows).to.be.empty;
  });

  it('exits immediately at a second SIGINT, and the projection is consistent', async () => {
    await projected();
    const before = await statistics();
    const { child, ended } = startLinklog(['projections', 'rebuild', 'stats', '--yes']);
    await whileSwapIsBlocked(async () => {
      await untilRebuildWaits();
      child.kill('SIGINT');
      await sleep(600);
      child.kill('SIGINT');
      const { exitCode, stderr } = await ended;
      expect(exitCode).to.equal(130);
      expect(stderr).to.match(/the rebuild was killed; the projection stats is consistent/);
    });
    expect(await statistics()).to.deep.equal(before);
    await rebuild('stats');
  });

  it('shows and redrives dead letters and parked events', async () => {
    const redrive = ['projections', 'redrive', 'redirects'];
    expect(await text(...redrive)).to.equal('There are no dead letters of redirects\n');
    const { pool, databaseUrl, env } = service;
    const logger = createLogger('silent');
    const listener = listenToPostgres(databaseUrl, ['linklog_log', 'linklog_sent'], logger);
    const opened = await openEventLog(readConfig(env), {
      ...{ pool, url: databaseUrl, listener, logger },
      user: 'command',
    });
    // The limit exceeds the range of the column; the next event is parked.
    const events = [created('poison', { maxClicks: 3_000_000_000 }), blocked('poison', 2)];
    await opened.log.append(topics.links.name, events.map(recordOf));
    await opened.close();
    await listener.close();
    await projected();

    const row = /^redirects +0 +1 +1$/m;
    await eventually('the dead letter is shown', async () =>
      row.test(await text('projections', 'status')),
    );
    expect(await text(...redrive)).to.equal(
      'Redrove redirects: 0 applied, 0 repeats dropped, 2 still set aside\n',
    );
    expect(await json(...redrive)).to.deep.equal({
      ...{ projection: 'redirects', applied: 0, repeats: 0, remaining: 2 },
    });
    const { stdout } = await rebuild('redirects');
    expect(stdout).to.match(/ s; set aside: 1 dead letter, 1 parked\n$/);
  });
});
