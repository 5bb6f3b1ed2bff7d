import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually, eventuallyPasses, rejection, within } from '../../test/support/waiting.js';
import { startTcpProxy } from '../../test/support/tcp-proxy.js';
import { injectedFaultFunction } from '../../test/support/faulty-pool.js';
import { createBatcher } from '../concurrency/batcher.js';
import { deferred } from '../concurrency/deferred.js';
import { createLogger } from '../logging.js';
import { isUnavailable, mayBeCausedByOneCommand } from '../error-codes.js';
import {
  createPool,
  execute,
  lockingTransaction,
  OutcomeUnknown,
  transaction,
  TransactionAborted,
  TransactionEnded,
  withConnection,
  type Client,
  type Pool,
} from './pool.js';
import { writeOnly, type Statement, type Write } from './statement.js';
import { fixture } from '../../test/support/fixture.js';
import { databaseFixture } from '../../test/support/fixtures.js';

const logger = createLogger('silent');

describe('platform: transaction', () => {
  const database = databaseFixture('pool');
  let pool: Pool;

  before(async () => {
    ({ pool } = database);
    await pool.query(`CREATE TABLE notes (
      id integer PRIMARY KEY,
      unique_late integer UNIQUE DEFERRABLE INITIALLY DEFERRED
    )`);
  });

  beforeEach(() => pool.query('TRUNCATE notes'));

  const noting = (id: number, late = id): Statement => ({
    text: 'INSERT INTO notes VALUES ($1, $2)',
    values: [id, late],
  });

  const note = (client: Client, id: number, late = id) =>
    execute(client, writeOnly([noting(id, late)]));

  const notes = async (): Promise<readonly number[]> => {
    const { rows } = await pool.query<{ id: number }>('SELECT id FROM notes ORDER BY id');
    return rows.map(({ id }) => id);
  };

  const killBackend = async (client: Client): Promise<void> => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
  };

  it('is committed when its work resolves, and returns its result', async () => {
    const result = await transaction(pool, async (tx) => {
      await note(tx, 1);
      expect(await notes()).to.deep.equal([]);
      await note(tx, 2);
      return 'done';
    });
    expect(result).to.equal('done');
    expect(await notes()).to.deep.equal([1, 2]);
  });

  it('is rolled back when its work throws, and throws the same error', async () => {
    const refusal = new Error('No');
    const thrown = await rejection(
      transaction(pool, async (tx) => {
        await note(tx, 1);
        throw refusal;
      }),
    );
    expect(thrown).to.equal(refusal);
    expect(await notes()).to.deep.equal([]);
  });

  it('leaves its connection usable, also after a failed statement', async () => {
    const single = createPool({ url: database.url, name: 'one', max: 1, logger });
    const pids: unknown[] = [];
    for (let round = 0; round < 2; round += 1) {
      const error = await rejection(
        transaction(single, async (tx) => {
          pids.push((await tx.query('SELECT pg_backend_pid() AS pid')).rows[0]);
          await note(tx, 1);
          await note(tx, 1);
        }),
      );
      expect(error).to.include({ code: '23505' });
    }
    expect(pids[0]).to.deep.equal(pids[1]);
    await single.end();
  });

  it('throws the error of a deferred constraint at COMMIT', async () => {
    const error = await rejection(
      transaction(pool, async (tx) => {
        await note(tx, 1, 7);
        await note(tx, 2, 7);
      }),
    );
    expect(error).to.be.instanceOf(pg.DatabaseError);
    expect(error).to.include({ code: '23505' });
    expect(await notes()).to.deep.equal([]);
  });

  it('fails when its work ignored a failed statement', async () => {
    const error = await rejection(
      transaction(pool, async (tx) => {
        await note(tx, 1);
        // The swallowing is what is tested.
        await note(tx, 1).catch(() => undefined);
      }),
    );
    expect(error).to.be.instanceOf(TransactionAborted);
    expect(await notes()).to.deep.equal([]);
  });

  describe('whose connection dies', () => {
    const proxy = fixture(
      () => startTcpProxy(database.url),
      (proxy) => proxy.close(),
    );
    const proxied = fixture(
      () => createPool({ url: proxy.url, name: 'proxied', max: 2, logger }),
      (proxied) => proxied.end(),
    );

    afterEach(() => {
      proxy.inspect(null);
    });

    it('before COMMIT was sent has an unknown outcome', async () => {
      proxy.inspect((chunk, cut) => {
        if (chunk.includes('COMMIT')) cut();
      });
      const select = (tx: Client) => tx.query('SELECT');
      const insert = (tx: Client) => note(tx, 1);
      for (const write of [
        () => transaction(proxied, insert),
        () => lockingTransaction(proxied, select, () => writeOnly([noting(1)])),
      ]) {
        const error = await rejection(write());
        expect(error).to.be.instanceOf(OutcomeUnknown);
        expect(error).to.have.property('code', 'OUTCOME_UNKNOWN');
        expect((error as Error).cause).to.be.instanceOf(Error);
      }
      expect(await notes()).to.deep.equal([]);
    });

    it('after COMMIT took effect has an unknown outcome', async () => {
      proxy.inspect((chunk) => {
        // The answer is held back for good, until the connection is cut.
        if (chunk.includes('COMMIT')) proxy.mute();
      });
      const committed = transaction(proxied, (tx) => note(tx, 2));
      const failed = rejection(committed);
      await eventually('it is committed', async () => (await notes()).includes(2));
      proxy.cut();
      expect(await failed).to.be.instanceOf(OutcomeUnknown);
    });

    it('during its work is rolled back, and the next one gets another', async () => {
      const error = await rejection(
        transaction(proxied, async (tx) => {
          await note(tx, 3);
          await killBackend(tx);
          await note(tx, 4);
        }),
      );
      expect(isUnavailable(error), String(error)).to.be.true;
      await transaction(proxied, (tx) => note(tx, 5));
      expect(await notes()).to.deep.equal([5]);
    });

    it('is not used again when BEGIN, ROLLBACK or a statement has timed out', async () => {
      const impatient = createPool({
        ...{ url: proxy.url, name: 'impatient', max: 1, logger },
        deadlines: 'request',
      });
      const pidOf = (client: Client) =>
        client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid').then(({ rows }) => rows[0]);
      const before = await transaction(impatient, pidOf);
      proxy.inspect((chunk) => {
        if (chunk.includes('BEGIN')) proxy.mute();
      });
      const failed = rejection(transaction(impatient, (tx) => note(tx, 8)));
      const error = await within(3_000, 'one deadline, not one for each statement', failed);
      expect(isUnavailable(error), String(error)).to.be.true;
      proxy.inspect(null);
      proxy.cut();
      expect(await transaction(impatient, pidOf)).to.not.deep.equal(before);
      await transaction(impatient, (tx) => note(tx, 9));
      expect(await notes()).to.deep.equal([9]);
      await impatient.end();
    });

    it('between two statements does not end the process, and the next one fails', async () => {
      const error = await rejection(
        transaction(proxied, async (tx) => {
          await killBackend(tx);
          await sleep(100);
          const next = await rejection(note(tx, 6));
          expect((next as Error).message).to.include('not queryable');
          await note(tx, 6);
        }),
      );
      expect(isUnavailable(error), String(error)).to.be.true;
      expect(await notes()).to.deep.equal([]);
    });
  });

  it('leaves no connection with an open transaction in the pool', async () => {
    const single = createPool({ url: database.url, name: 'one', max: 1, logger });
    await withConnection(single, async (client) => {
      await client.query('BEGIN');
      await note(client, 1);
    });
    await single.query('INSERT INTO notes VALUES (2, 2)');
    await single.end();
    expect(await notes()).to.deep.equal([2]);
  });

  it('holds its locks, and writes nothing if it does not get them', async () => {
    await note(pool, 1);
    await lockingTransaction(
      pool,
      async (tx) => {
        const { rows } = await tx.query('SELECT id FROM notes FOR UPDATE');
        expect(rows).to.deep.equal([{ id: 1 }]);
        return pool.query('SELECT FROM notes FOR UPDATE SKIP LOCKED');
      },
      ({ rows: free }) => {
        expect(free).to.deep.equal([]);
        return writeOnly([noting(3)]);
      },
    );
    const refused = await rejection(
      lockingTransaction(
        pool,
        (tx) => tx.query('SELECT 1 / 0'),
        () => writeOnly([noting(2)]),
      ),
    );
    expect(refused).to.include({ code: '22012' });
    expect(await notes()).to.deep.equal([1, 3]);
  });

  it('is not committed if one of its statements fails', async () => {
    const failed = await rejection(
      lockingTransaction(
        pool,
        (tx) => tx.query('SELECT'),
        () => writeOnly([noting(1), { text: 'SELECT 1 / 0' }, noting(2)]),
      ),
    );
    expect(failed).to.include({ code: '22012' });
    const thrown = await rejection(
      lockingTransaction(
        pool,
        (tx) => note(tx, 3),
        () => {
          throw new Error('No');
        },
      ),
    );
    expect(thrown).to.have.property('message', 'No');
    expect(await notes()).to.deep.equal([]);
  });

  it('is not committed if a parameter cannot be encoded', async () => {
    const unencodable = {
      toPostgres() {
        throw new Error('no form in PostgreSQL');
      },
    };
    const failed = await rejection(
      lockingTransaction(
        pool,
        (tx) => tx.query('SELECT'),
        () => writeOnly([noting(1), { text: 'SELECT $1', values: [unencodable] }, noting(2)]),
      ),
    );
    expect(failed).to.have.property('message', 'no form in PostgreSQL');
    expect(await notes()).to.deep.equal([]);
  });

  it('sends no statement after its end', async () => {
    const late = deferred();
    const lateEnd = deferred<unknown>();
    const goOn = async (tx: Client): Promise<void> => {
      await late.promise;
      lateEnd.resolve(await rejection(note(tx, 1)));
    };
    for (const run of [
      () => transaction(pool, (tx) => Promise.all([goOn(tx), tx.query('SELECT 1 / 0')])),
      () =>
        lockingTransaction(
          pool,
          (tx) => Promise.all([goOn(tx), tx.query('SELECT 1 / 0')]),
          () => writeOnly([noting(2)]),
        ),
    ]) {
      expect(await rejection(run())).to.include({ code: '22012' });
    }
    late.resolve();
    expect(await lateEnd.promise).to.be.instanceOf(TransactionEnded);
    expect(await notes()).to.deep.equal([]);
  });

  it('keeps its outcome when afterCommit throws, and logs the error', async () => {
    const lines: unknown[] = [];
    const logging = createPool({
      ...{ url: database.url, name: 'logging', max: 1 },
      logger: Object.assign(createLogger('silent'), {
        error: (details: unknown) => lines.push(details),
      }),
    });
    const write = (id: number): Write<string> => ({
      statements: [noting(id)],
      resultOf: () => 'written',
      afterCommit() {
        throw new Error('the callback failed');
      },
    });
    const locking = (id: number) =>
      lockingTransaction(
        logging,
        (tx) => tx.query('SELECT'),
        () => write(id),
      );
    const batcher = createBatcher<number, string>({
      ...{ maxBatch: 10, maxWaiting: 10, mayBeCausedByOneCommand: () => true },
      run: (ids) => Promise.all(ids.map(locking)),
    });
    expect(await Promise.all([batcher.submit(1), batcher.submit(2)])).to.deep.equal([
      'written',
      'written',
    ]);
    expect(await transaction(logging, (tx) => execute(tx, write(3)))).to.equal('written');
    expect(await notes()).to.deep.equal([1, 2, 3]);
    expect(lines).to.have.length(3);
    await logging.end();
  });

  it('has an unknown outcome, and is not retried, when its result is lost after COMMIT', async () => {
    let runs = 0;
    const failed = await rejection(
      lockingTransaction(
        pool,
        (tx) => tx.query('SELECT'),
        () => {
          runs += 1;
          return {
            statements: [noting(1)],
            resultOf() {
              throw new Error('no result');
            },
          };
        },
      ),
    );
    expect(failed).to.be.instanceOf(OutcomeUnknown);
    expect(mayBeCausedByOneCommand(failed)).to.be.false;
    expect([runs, await notes()]).to.deep.equal([1, [1]]);
  });

  it('is retried when PostgreSQL ends it because of a deadlock', async () => {
    await note(pool, 1);
    await note(pool, 2);
    const haveBothLocked = [deferred(), deferred()];
    let runs = 0;
    const lockInOppositeOrder = async (tx: Client, mine: number): Promise<void> => {
      const lockRow = (id: number) => tx.query('SELECT FROM notes WHERE id = $1 FOR UPDATE', [id]);
      runs += 1;
      await lockRow(mine);
      haveBothLocked[mine - 1]?.resolve();
      await Promise.all(haveBothLocked.map(({ promise }) => promise));
      await lockRow(3 - mine);
      await tx.query('UPDATE notes SET unique_late = unique_late + 10 WHERE id = $1', [mine]);
    };
    await Promise.all(
      [1, 2].map((mine) => transaction(pool, (tx) => lockInOppositeOrder(tx, mine))),
    );
    expect(runs).to.equal(3);
  });

  it('is retried when it cannot be serialized, a bounded number of times', async () => {
    await database.pool.query(injectedFaultFunction);
    let runs = 0;
    const conflict = { text: 'SELECT public.injected_fault($1)', values: ['40001'] };
    const failed = await rejection(
      lockingTransaction(
        pool,
        (tx) => tx.query('SELECT'),
        () => {
          runs += 1;
          return writeOnly([noting(1), conflict]);
        },
      ),
    );
    expect(isUnavailable(failed), 'is unavailable rather than to blame').to.be.true;
    expect([runs, await notes()]).to.deep.equal([5, []]);
  });

  it('throws the error of its first failed statement, although later ones reject sooner', async () => {
    /** Rejects later than a single statement. */
    const failing = async (tx: Client): Promise<void> => {
      try {
        await tx.query('SELECT 1 / 0');
      } finally {
        await Promise.resolve();
        await Promise.resolve();
      }
    };
    const failingFirst = (tx: Client) => Promise.all([failing(tx), tx.query('SELECT')]);
    const select = { text: 'SELECT' };
    for (const run of [
      () => transaction(pool, failingFirst),
      () => lockingTransaction(pool, failingFirst, () => writeOnly([select])),
      () =>
        lockingTransaction(
          pool,
          (tx) => tx.query(select),
          () => writeOnly([{ text: 'SELECT 1 / 0' }, select]),
        ),
    ]) {
      expect(await rejection(run())).to.include({ code: '22012' });
    }
  });

  it('returns the results of pipelined statements', async () => {
    const results = await withConnection(pool, (client) =>
      Promise.allSettled([
        client.query('SELECT 1 AS one'),
        client.query('SELECT 1 / 0'),
        client.query({ name: 'third', text: 'SELECT $1::integer AS three', values: [3] }),
      ]),
    );
    expect(
      results.map((result) =>
        result.status === 'fulfilled' ? (result.value.rows[0] as unknown) : 'failed',
      ),
    ).to.deep.equal([{ one: 1 }, 'failed', { three: 3 }]);
  });

  it('plans once, with an index scan, if plansByKey is set', async () => {
    // The embedded server has no JIT.
    await database.pool.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$`,
    );
    const byKey = createPool({
      url: database.url,
      name: 'by key',
      max: 1,
      plansByKey: true,
      logger,
    });
    const find = { name: 'find', text: 'SELECT FROM notes WHERE id = ANY ($1::integer[])' };
    for (let round = 0; round < 2; round += 1) await byKey.query({ ...find, values: [[1]] });
    const { rows } = await byKey.query(
      `SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'find'`,
    );
    expect(rows).to.deep.equal([{ generic_plans: 2, custom_plans: 0 }]);
    const plan = await byKey.query("EXPLAIN EXECUTE find('{1}')");
    expect(JSON.stringify(plan.rows))
      .to.match(/Index/)
      .and.not.match(/Seq Scan/);
    expect((await byKey.query('SHOW jit')).rows).to.deep.equal([{ jit: 'off' }]);
    await byKey.end();
  });

  it('waits for a lock, and holds a lock of a suspended process, for a limited time', async () => {
    const request = createPool({
      url: database.url,
      name: 'one',
      max: 2,
      deadlines: 'request',
      logger,
    });
    await note(pool, 1);
    const locked = deferred();
    const thawed = deferred();
    const holder = rejection(
      transaction(request, async (tx) => {
        await tx.query('SELECT FROM notes FOR UPDATE');
        locked.resolve();
        // As a process that is stopped: it sends nothing, and does not end its connection.
        await thawed.promise;
        await note(tx, 2);
      }),
    );
    await locked.promise;
    const change = () =>
      transaction(request, async (tx) => {
        await tx.query('UPDATE notes SET unique_late = 3');
      });
    expect(isUnavailable(await rejection(change()))).to.be.true;
    await eventuallyPasses(change);
    thawed.resolve();
    expect(isUnavailable(await holder)).to.be.true;
    await request.end();
  });

  it('does not wait for a response that the network has lost', async () => {
    const proxy = await startTcpProxy(database.url);
    const watched = createPool({ url: proxy.url, name: 'test lost', max: 2, logger });
    try {
      await watched.query('SELECT');
      proxy.disturb('silent');
      const lost = rejection(watched.query('SELECT'));
      await sleep(50);
      const lostBy = performance.now();
      proxy.mend();
      const { rows } = await watched.query('SELECT 1');
      watched.closeLostBefore(lostBy);
      expect(isUnavailable(await lost)).to.equal(true);
      expect(rows).to.have.length(1);
      expect((await watched.query('SELECT 1')).rows).to.have.length(1);
      expect(watched.totalCount).to.equal(1);
    } finally {
      await watched.end();
      await proxy.close();
    }
  });

  it('survives the loss of a connection before it has a listener', async () => {
    const waiting = pool.connect();
    pool.once('acquire', (client: pg.PoolClient) => {
      // As when PostgreSQL's farewell comes in one packet with the end of the connection's start.
      queueMicrotask(() => {
        client.emit('error', new Error('terminating connection due to administrator command'));
      });
    });
    (await waiting).release(true);
    expect(await transaction(pool, () => Promise.resolve('done'))).to.equal('done');
  });

  it('reads bigint as a number, and rejects unsafe integers', async () => {
    const { rows } = await pool.query(
      `SELECT 9007199254740991 AS "safe", date '2026-02-03' AS day`,
    );
    expect(rows).to.deep.equal([{ safe: Number.MAX_SAFE_INTEGER, day: '2026-02-03' }]);
    expect(await rejection(pool.query('SELECT 9007199254740992'))).to.be.instanceOf(RangeError);
  });
});

describe('platform: connection error', () => {
  const database = databaseFixture('connection_errors');

  const failureAt = async (change: (url: URL) => void): Promise<unknown> => {
    const url = new URL(database.url);
    change(url);
    const pool = createPool({ url: url.href, name: 'failing', max: 1, logger });
    const error = await rejection(pool.query('SELECT 1'));
    await pool.end();
    return error;
  };

  it('includes a refused connection and an unknown host name', async () => {
    const nothing = await failureAt((url) => {
      url.port = '1';
    });
    expect(isUnavailable(nothing)).to.be.true;
    const unknown = await failureAt((url) => {
      url.hostname = 'unknown.invalid';
    });
    expect(isUnavailable(unknown), String(unknown)).to.be.true;
  });

  it('includes a server that accepts the connection and does not respond', async () => {
    const proxy = await startTcpProxy(database.url);
    proxy.pause();
    const error = await failureAt((url) => {
      url.host = new URL(proxy.url).host;
    });
    expect(isUnavailable(error), String(error)).to.be.true;
    await proxy.close();
  });

  it('does not include wrong statements, passwords and databases, or other errors', async () => {
    const wrong = [
      await rejection(database.pool.query('SELECT FROM WHERE')),
      await rejection(database.pool.query(`SELECT 1 / 0`)),
      await failureAt((url) => {
        url.password = 'wrong';
      }),
      await failureAt((url) => {
        url.pathname = '/missing';
      }),
      new Error('Anything'),
      'ECONNREFUSED',
      undefined,
    ];
    for (const error of wrong) expect(isUnavailable(error), String(error)).to.be.false;
  });

  it('includes exhausted connections, statement_timeout and lock_timeout', async () => {
    const pool = createPool({ url: database.url, name: 'hasty', max: 1, logger });
    const inTime = (statement: string) =>
      rejection(
        transaction(pool, async (tx) => {
          await tx.query("SET LOCAL statement_timeout = '50ms'; SET LOCAL lock_timeout = '20ms'");
          await tx.query(statement);
        }),
      );
    await database.pool.query('SELECT pg_advisory_lock(1)');
    const errors = [await inTime('SELECT pg_sleep(9)'), await inTime('SELECT pg_advisory_lock(1)')];
    expect(errors.map((error) => (error as { code?: unknown }).code)).to.deep.equal([
      '57014',
      '55P03',
    ]);
    errors.push(Object.assign(new Error('too many clients already'), { code: '53300' }));
    for (const error of errors) expect(isUnavailable(error), String(error)).to.be.true;
    await pool.end();
  });

  it('includes a temporary failure of name resolution', () => {
    const error = Object.assign(new Error('getaddrinfo EAI_AGAIN db'), { code: 'EAI_AGAIN' });
    expect(isUnavailable(error)).to.be.true;
  });
});
