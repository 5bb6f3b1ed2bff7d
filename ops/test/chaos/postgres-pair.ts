import { setTimeout as sleep } from 'node:timers/promises';
import {
  startPostgresServer,
  startStandby,
  type PostgresServer,
} from '../support/postgres-server.js';
import { eventually } from '../support/waiting.js';

const untilSynchronous = (primary: PostgresServer): Promise<void> =>
  eventually('the standby is synchronous', async () => {
    const rows = await primary.query<{ sync: string }>(
      'SELECT sync_state AS sync FROM pg_stat_replication',
    );
    return rows[0]?.sync === 'sync';
  });

/** Starts a PostgreSQL with a synchronous standby, without which no transaction commits. */
export const startPostgresPair = async () => {
  let primary = await startPostgresServer();
  await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await primary.query('SELECT pg_reload_conf()');
  // It has the same setting, for the time after its promotion.
  let standby = await startStandby(primary);
  await untilSynchronous(primary);
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `postgres://linklog:${primary.password}@${hosts}/postgres?target_session_attrs=read-write`,
    /** Kills (-9) the primary, promotes the standby after `outageMs`, and starts another standby on the free port. */
    async failOver(outageMs: number): Promise<void> {
      const { port } = primary;
      await primary.kill();
      await primary.stop();
      await sleep(outageMs);
      await standby.query('SELECT pg_promote()');
      primary = standby;
      standby = await startStandby(primary, { port });
      await untilSynchronous(primary);
    },
    async stop(): Promise<void> {
      await standby.stop();
      await primary.stop();
    },
  };
};
