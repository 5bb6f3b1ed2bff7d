import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually, eventuallyPasses, rejection } from '../../test/support/waiting.js';
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
    await pool.query(injectedFaultFunction);
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

  const divisionByZero = { text: 'SELECT 1 / 0' };
  const select = (tx: Client) => tx.query('SELECT');

  const writing = <Result>(write: () => Write<Result>, on: Pool = pool): Promise<Result> =>
    lockingTransaction(on, select, write);

  const withPool = async <Result>(
    options: Partial<Parameters<typeof createPool>[0]>,
    work: (pool: Pool) => Promise<Result>,
  ): Promise<Result> => {
    const own = createPool({ url: database.url, name: 'own', max: 1, logger, ...options });
    try {
      return await work(own);
    } finally {
      await own.end();
    }
  };

  const pidOf = async (client: Client): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return rows[0]?.pid ?? 0;
  };

  const killBackend = async (client: Client): Promise<void> => {
    await pool.query('SELECT pg_terminate_backend($1)', [await pidOf(client)]);
  };

  it('is rolled back when its work throws, and throws the same error', async () => {
    const refusal = new Error('No');
    const refuse = (): never => {
      throw refusal;
    };
    expect(await rejection(transaction(pool, (tx) => note(tx, 1).then(refuse)))).to.equal(refusal);
    expect(await rejection(lockingTransaction(pool, (tx) => note(tx, 3), refuse))).to.equal(
      refusal,
    );
    expect(await notes()).to.deep.equal([]);
  });

  it('throws the error of a deferred constraint at COMMIT', async () => {
    const failed = transaction(pool, (tx) => note(tx, 1, 7).then(() => note(tx, 2, 7)));
    expect(await rejection(failed))
      .to.be.instanceOf(pg.DatabaseError)
      .and.include({ code: '23505' });
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
      for (const write of [
        () => transaction(proxied, (tx) => note(tx, 1)),
        () => writing(() => writeOnly([noting(1)]), proxied),
      ]) {
        const error = await rejection(write());
        expect(error).to.be.instanceOf(OutcomeUnknown).and.include({ code: 'OUTCOME_UNKNOWN' });
        expect((error as Error).cause).to.be.instanceOf(Error);
      }
      expect(await notes()).to.deep.equal([]);
    });

    it('after COMMIT took effect has an unknown outcome', async () => {
      // The response is held back until the connection is cut.
      proxy.inspect((chunk) => {
        if (chunk.includes('COMMIT')) proxy.mute();
      });
      const failed = rejection(transaction(proxied, (tx) => note(tx, 2)));
      await eventually('it is committed', async () => (await notes()).includes(2));
      proxy.cut();
      expect(await failed).to.be.instanceOf(OutcomeUnknown);
    });

    it('is not used again when BEGIN, ROLLBACK or a statement has timed out', () =>
      withPool({ url: proxy.url, deadlines: 'request' }, async (impatient) => {
        const before = await transaction(impatient, pidOf);
        proxy.inspect((chunk) => {
          if (chunk.includes('BEGIN')) proxy.mute();
        });
        expect(await rejection(transaction(impatient, (tx) => note(tx, 8)))).to.satisfy(
          isUnavailable,
        );
        proxy.inspect(null);
        proxy.cut();
        expect(await transaction(impatient, pidOf)).to.not.equal(before);
        await transaction(impatient, (tx) => note(tx, 9));
        expect(await notes()).to.deep.equal([9]);
      }));

    it('during its work is rolled back, does not end the process, and is not used again', async () => {
      const failed = transaction(proxied, async (tx) => {
        await note(tx, 6);
        await killBackend(tx);
        await eventuallyPasses(async () => {
          expect(await rejection(note(tx, 6)))
            .to.have.property('message')
            .that.includes('not queryable');
        });
        await note(tx, 6);
      });
      expect(await rejection(failed)).to.satisfy(isUnavailable);
      await transaction(proxied, (tx) => note(tx, 5));
      expect(await notes()).to.deep.equal([5]);
    });
  });

  it('leaves no connection with an open transaction in the pool', async () => {
    await withPool({}, async (single) => {
      await withConnection(single, async (client) => {
        await client.query('BEGIN');
        await note(client, 1);
      });
      await note(single, 2);
    });
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
    const failed = lockingTransaction(
      pool,
      (tx) => tx.query(divisionByZero),
      () => writeOnly([noting(2)]),
    );
    expect(await rejection(failed)).to.include({ code: '22012' });
    expect(await notes()).to.deep.equal([1, 3]);
  });

  it('is not committed if one of its statements fails, or has a parameter without an encoding', async () => {
    const unencodable = {
      toPostgres() {
        throw new Error('no form in PostgreSQL');
      },
    };
    for (const [bad, message] of [
      [divisionByZero, 'division by zero'],
      [{ text: 'SELECT $1', values: [unencodable] }, 'no form in PostgreSQL'],
    ] as const) {
      const failed = writing(() => writeOnly([noting(1), bad, noting(2)]));
      expect(await rejection(failed)).to.have.property('message', message);
    }
    expect(await notes()).to.deep.equal([]);
  });

  it('sends no statement after its end', async () => {
    const late = deferred();
    const lateEnd = deferred<unknown>();
    const failing = async (tx: Client) => {
      void late.promise.then(async () => {
        lateEnd.resolve(await rejection(note(tx, 1)));
      });
      await tx.query(divisionByZero);
    };
    for (const run of [
      () => transaction(pool, failing),
      () => lockingTransaction(pool, failing, () => writeOnly([noting(2)])),
    ]) {
      expect(await rejection(run())).to.include({ code: '22012' });
    }
    late.resolve();
    expect(await lateEnd.promise).to.be.instanceOf(TransactionEnded);
    expect(await notes()).to.deep.equal([]);
  });

  it('keeps its outcome when afterCommit throws, and logs the error', async () => {
    const lines: unknown[] = [];
    const error = (details: unknown) => lines.push(details);
    const logging = { logger: Object.assign(createLogger('silent'), { error }) };
    await withPool(logging, async (own) => {
      const write = (id: number): Write<string> => ({
        statements: [noting(id)],
        resultOf: () => 'written',
        afterCommit() {
          throw new Error('the callback failed');
        },
      });
      const batcher = createBatcher<number, string>({
        ...{ maxBatch: 10, maxWaiting: 10, mayBeCausedByOneCommand: () => true },
        run: (ids) => Promise.all(ids.map((id) => writing(() => write(id), own))),
      });
      const results = await Promise.all([batcher.submit(1), batcher.submit(2)]);
      results.push(await transaction(own, (tx) => execute(tx, write(3))));
      expect(results).to.deep.equal(['written', 'written', 'written']);
    });
    expect(await notes()).to.deep.equal([1, 2, 3]);
    expect(lines).to.have.length(3);
  });

  it('has an unknown outcome, and is not retried, when its result is lost after COMMIT', async () => {
    let runs = 0;
    const resultOf = (): never => {
      throw new Error('no result');
    };
    const failed = await rejection(
      writing(() => {
        runs += 1;
        return { statements: [noting(1)], resultOf };
      }),
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
    };
    await Promise.all(
      [1, 2].map((mine) => transaction(pool, (tx) => lockInOppositeOrder(tx, mine))),
    );
    expect(runs).to.equal(3);
  });

  it('is retried when it cannot be serialized, a bounded number of times', async () => {
    let runs = 0;
    const conflict = { text: 'SELECT public.injected_fault($1)', values: ['40001'] };
    const failed = writing(() => {
      runs += 1;
      return writeOnly([noting(1), conflict]);
    });
    expect(await rejection(failed)).to.satisfy(isUnavailable);
    expect([runs, await notes()]).to.deep.equal([5, []]);
  });

  it('throws the error of its first failed statement, although later ones reject sooner', async () => {
    /** Rejects later than a single statement. */
    const failing = async (tx: Client): Promise<void> => {
      try {
        await tx.query(divisionByZero);
      } finally {
        await Promise.resolve();
        await Promise.resolve();
      }
    };
    const failingFirst = (tx: Client) => Promise.all([failing(tx), select(tx)]);
    for (const run of [
      () => transaction(pool, failingFirst),
      () => lockingTransaction(pool, failingFirst, () => writeOnly([{ text: 'SELECT' }])),
      () => writing(() => writeOnly([divisionByZero, { text: 'SELECT' }])),
    ]) {
      expect(await rejection(run())).to.include({ code: '22012' });
    }
  });

  it('plans once, with an index scan and without JIT, if plansByKey is set', async () => {
    // The embedded server has no JIT.
    await pool.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$`,
    );
    await withPool({ plansByKey: true }, async (byKey) => {
      const find = { name: 'find', text: 'SELECT FROM notes WHERE id = ANY ($1::integer[])' };
      for (let round = 0; round < 2; round += 1) await byKey.query({ ...find, values: [[1]] });
      const { rows } = await byKey.query(
        `SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'find'`,
      );
      expect(rows).to.deep.equal([{ generic_plans: 2, custom_plans: 0 }]);
      const plan = JSON.stringify((await byKey.query("EXPLAIN EXECUTE find('{1}')")).rows);
      expect(plan).to.include('Index').and.not.include('Seq Scan');
      expect((await byKey.query('SHOW jit')).rows).to.deep.equal([{ jit: 'off' }]);
    });
  });

  it('waits for a lock, and holds a lock of a suspended process, for a limited time', () =>
    withPool({ max: 2, deadlines: 'request' }, async (request) => {
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
      const change = () => transaction(request, (tx) => tx.query('UPDATE notes SET id = 3'));
      expect(await rejection(change())).to.satisfy(isUnavailable);
      await eventuallyPasses(() => change().then(() => undefined));
      thawed.resolve();
      expect(await holder).to.satisfy(isUnavailable);
    }));

  it('does not wait for a response that the network has lost', async () => {
    const proxy = await startTcpProxy(database.url);
    await withPool({ url: proxy.url, max: 2, deadlines: 'patient' }, async (watched) => {
      await watched.query('SELECT');
      proxy.disturb('silent');
      const lost = rejection(watched.query('SELECT'));
      // The statement was sent, and its connection is older than `lostBy`.
      await sleep(50);
      const lostBy = performance.now();
      proxy.mend();
      await watched.query('SELECT');
      watched.closeLostBefore(lostBy);
      expect(await lost).to.satisfy(isUnavailable);
      await watched.query('SELECT');
      expect(watched.totalCount).to.equal(1);
    });
    await proxy.close();
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

  describe('in a pipeline', () => {
    /** The outcomes of statements that are sent without awaiting a result, on `client`. */
    const sendTogether = (client: Client, ...texts: readonly (string | pg.QueryConfig)[]) =>
      Promise.allSettled(
        texts.map(async (text) => (await client.query<{ n: number }>(text as string)).rows[0]?.n),
      );

    it('returns the result of each statement, also on a new connection', () =>
      withPool({ plansByKey: true }, async (own) => {
        const number = (n: number) => ({ text: 'SELECT $1::integer AS n', values: [n] });
        const rows = await lockingTransaction(
          own,
          (tx) => Promise.all([tx.query(number(1)), tx.query(number(2))]),
          (locked) => ({
            statements: [number(3)],
            resultOf: (results) => [...locked, ...results].flatMap(({ rows }) => rows as unknown[]),
          }),
        );
        expect(rows).to.deep.equal([{ n: 1 }, { n: 2 }, { n: 3 }]);
        const outcomes = await withConnection(own, (client) =>
          sendTogether(client, 'SELECT 4 AS n', divisionByZero, number(6)),
        );
        expect(outcomes.map((outcome) => 'value' in outcome && outcome.value)).to.deep.equal([
          ...[4, false, 6],
        ]);
        const together = transaction(own, (tx) =>
          Promise.all([note(tx, 1), tx.query('SELECT 1; SELECT 2'), note(tx, 2)]),
        );
        expect(await together).to.have.length(3);
        expect(await notes()).to.deep.equal([1, 2]);
      }));

    it('skips the statements after a failed statement, and keeps its connection', () =>
      withPool({}, async (own) => {
        const pid = await transaction(own, pidOf);
        const insert = { name: 'insert', text: 'INSERT INTO notes VALUES (1, 1)' };
        const unparsed = { name: 'never parsed before', text: 'SELECT 1 AS n' };
        let outcomes: readonly PromiseSettledResult<unknown>[] = [];
        const failed = transaction(own, async (tx) => {
          outcomes = await sendTogether(tx, insert, insert, unparsed, 'SELECT 2 AS n');
        });
        expect(await rejection(failed)).to.be.instanceOf(TransactionAborted);
        const codes = outcomes.map((outcome) => 'reason' in outcome && (outcome.reason as Error));
        expect(codes.map((error) => error && 'code' in error && error.code)).to.deep.equal([
          ...[false, '23505', '25P02', '25P02'],
        ]);
        const { rows } = await transaction(own, (tx) => tx.query(unparsed));
        expect(rows).to.deep.equal([{ n: 1 }]);
        expect(await transaction(own, pidOf)).to.equal(pid);
        expect(await notes()).to.deep.equal([]);
      }));
  });
});
