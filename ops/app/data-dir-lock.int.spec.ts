import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import pg from 'pg';
import { freePort } from '../local/process/server.js';
import { createLogger } from '../platform/logging.js';
import { advisoryLockNamed } from '../platform/postgres/own-connection.js';
import { LockHeld } from '../platform/process/process-lock.js';
import { eventually, rejection, endsWithin } from '../test/support/waiting.js';
import { lockInDatabase } from './data-dir-lock.js';
import { databaseFixture } from '../test/support/fixtures.js';

describe('composition root: lock on a data directory in PostgreSQL', () => {
  const database = databaseFixture('data_dir');
  let id: string;
  let locks: ReturnType<typeof lockInDatabase>[];
  beforeEach(() => {
    id = randomUUID();
    locks = [];
  });
  afterEach(async () => {
    for (const lock of locks) await lock.stop();
  });

  const lock = ({ lockId = id, waitMs = 100, url = database.url } = {}) => {
    const started = lockInDatabase({
      ...{ url, dataDir: '/shared', id: lockId, waitMs },
      logger: createLogger('silent'),
    });
    locks.push(started);
    return started;
  };
  const sessions = async (): Promise<readonly number[]> => {
    const { rows } = await database.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted`,
    );
    return rows.map(({ pid }) => pid);
  };

  const inUse = `/shared is in use by process ${process.pid} in another container or machine (host name ${hostname()})`;

  it('rejects a second process, and names the first', async () => {
    await lock().decided;
    const second = lock();
    const error = await rejection(second.decided);
    expect(error).to.be.instanceOf(LockHeld);
    expect((error as LockHeld).message).to.equal(inUse);
    expect(await rejection(second.failed)).to.equal(error);
    await lock({ lockId: randomUUID() }).decided;
  });

  it('is acquired by a waiting process after the first has stopped', async () => {
    const first = lock();
    await first.decided;
    const second = lock({ waitMs: 10_000 });
    expect(await endsWithin(second.decided, 200)).to.equal(false);
    await first.stop();
    await second.decided;
  });

  it('is acquired again after its connection was lost', async () => {
    const first = lock();
    await first.decided;
    const [before] = await sessions();
    await database.pool.query('SELECT pg_terminate_backend($1)', [before]);
    await eventually('another session has acquired it', async () => {
      const now = await sessions();
      return now.length === 1 && now[0] !== before;
    });
    expect(await endsWithin(first.failed, 200)).to.equal(false);
  });

  it('fails when another process acquired it while the connection was lost', async () => {
    const first = lock();
    await first.decided;
    const [session] = await sessions();
    const other = new pg.Client({
      connectionString: database.url,
      application_name: 'linklog process 7 on other-host',
    });
    await other.connect();
    try {
      const waiting = other.query('SELECT pg_advisory_lock($1)', [
        ...advisoryLockNamed(`data directory ${id}`),
      ]);
      await database.pool.query('SELECT pg_terminate_backend($1)', [session]);
      await waiting;
      expect(((await rejection(first.failed)) as LockHeld).message).to.equal(
        '/shared is in use by process 7 in another container or machine (host name other-host)',
      );
    } finally {
      await other.end();
    }
  });

  it('does not block a start while PostgreSQL is unreachable', async () => {
    const url = `postgres://linklog@127.0.0.1:${await freePort()}/postgres`;
    const unreachable = lock({ url });
    await unreachable.decided;
    expect(await endsWithin(unreachable.failed, 200)).to.equal(false);
  });
});
