import { expect } from 'chai';
import { fixture } from '../../test/support/fixture.js';
import { startPostgresServer, startStandby } from '../../test/support/postgres-server.js';
import { startTcpProxy } from '../../test/support/tcp-proxy.js';
import { eventuallyPasses, rejection } from '../../test/support/waiting.js';
import { isUnavailable } from '../error-codes.js';
import { createLogger } from '../logging.js';
import { createPool, type WatchedPool } from './pool.js';

const logger = createLogger('silent');
const closed = '127.0.0.1:1';

describe('PostgreSQL: several hosts', () => {
  const primary = fixture(
    () => startPostgresServer(),
    (server) => server.stop(),
  );
  const standby = fixture(
    () => startStandby(primary),
    (server) => server.stop(),
  );
  const pools: WatchedPool[] = [];

  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.end();
  });

  const hostOf = (server: { readonly port: number }): string => `127.0.0.1:${server.port}`;

  const connect = (hosts: readonly string[], query = ''): WatchedPool => {
    const url = `postgres://linklog:${primary.password}@${hosts.join(',')}/postgres?sslmode=disable${query}`;
    const pool = createPool({ url, name: 'hosts', max: 4, logger });
    pools.push(pool);
    return pool;
  };

  const portOf = async (pool: WatchedPool): Promise<string> => {
    const { rows } = await pool.query<{ port: string }>('SHOW port');
    return `127.0.0.1:${rows[0]?.port ?? ''}`;
  };

  it('are tried in order; any session will do by default', async () => {
    const hosts = [hostOf(standby), hostOf(primary)];
    expect(await portOf(connect(hosts))).to.equal(hosts[0]);
    expect(await portOf(connect([...hosts].reverse()))).to.equal(hosts[1]);
    expect(await portOf(connect([closed, ...hosts]))).to.equal(hosts[0]);
    expect(await portOf(connect(['unknown.invalid', ...hosts]))).to.equal(hosts[0]);
  });

  for (const kind of ['read-write', 'primary']) {
    it(`skips a standby with target_session_attrs=${kind}`, async () => {
      const pool = connect([hostOf(standby), hostOf(primary)], `&target_session_attrs=${kind}`);
      expect(await portOf(pool)).to.equal(hostOf(primary));
      const alone = connect([hostOf(standby)], `&target_session_attrs=${kind}`);
      const error = await rejection(alone.query('SELECT'));
      expect(error).to.include({ code: '25006', message: 'postgres is read-only' });
    });
  }

  it('skips a host that accepts connections and does not respond', async () => {
    const silent = await startTcpProxy(`postgres://${hostOf(primary)}/postgres`);
    silent.pause();
    const pool = connect([new URL(silent.url).host, hostOf(primary)]);
    await eventuallyPasses(async () => {
      expect(await portOf(pool)).to.equal(hostOf(primary));
    });
    await silent.close();
  });

  it('stops at the first host that rejects the password', async () => {
    const pool = connect([hostOf(primary), hostOf(standby)]);
    const wrong = createPool({
      url: pool.options.connectionString?.replace(primary.password, 'wrong') ?? '',
      ...{ name: 'wrong', max: 1, logger },
    });
    pools.push(wrong);
    expect(await rejection(wrong.query('SELECT'))).to.include({ code: '28P01' });
  });

  it('names each host when none is suitable', async () => {
    const pool = connect([closed, hostOf(standby)], '&target_session_attrs=read-write');
    const error = await rejection(pool.query('SELECT'));
    expect((error as Error).message).to.equal(
      `${closed}: connect ECONNREFUSED ${closed}; ${hostOf(standby)}: postgres is read-only`,
    );
    expect(isUnavailable(error)).to.equal(true);
  });

  it('distinguishes a read-only primary from a standby', async () => {
    const readOnly = '&options=-c%20default_transaction_read_only%3Don';
    const writable = connect([hostOf(primary)], `&target_session_attrs=read-write${readOnly}`);
    expect(await rejection(writable.query('SELECT'))).to.include({ code: '25006' });
    const pool = connect([hostOf(primary)], `&target_session_attrs=primary${readOnly}`);
    expect(await portOf(pool)).to.equal(hostOf(primary));
  });
});
