import pg from 'pg';
import { yieldCpu } from '../concurrency/thread-priority.js';
import type { Logger } from '../logging.js';
import { retry } from '../concurrency/retry.js';
import { isConflict, isUnavailable } from '../error-codes.js';
import { hasCode } from '../errors.js';
import { arrayLiteral } from './array-literal.js';
import { answerGraceMs, deadlines, type DeadlineName, type Deadlines } from './deadlines.js';
import type { Silence } from './silence.js';
import { encodeStatement, type Write } from './statement.js';

/** What runs one statement: a pool, a connection or a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
/** A connection, or a transaction on it. */
export type Client = Queryable;
export type Pool = WatchedPool;

/** The rows' values, an array for each field, as PostgreSQL writes arrays: the arguments of `unnest`. */
export const valuesByField = <Row>(
  rows: readonly Row[],
  ...fields: readonly (keyof Row)[]
): string[] =>
  fields.map((field) => {
    yieldCpu();
    return arrayLiteral(rows.map((row) => row[field]));
  });

/** `unnest` of a parameter for each column, $1 and so on: arrays of these SQL types. */
export const unnest = (types: readonly string[]): string =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;

/** PostgreSQL is known to be silent. Nothing was sent to it, so nothing takes effect later. */
export class DatabaseSilent extends Error {
  readonly code = 'DATABASE_SILENT';

  constructor() {
    super('PostgreSQL does not answer');
  }
}

/**
 * COMMIT was sent and its answer never came: the transaction may or may not have taken effect. It
 * must not be tried again blindly.
 */
export class OutcomeUnknown extends Error {
  readonly code = 'OUTCOME_UNKNOWN';
}

/** Code of a transaction sent a statement after the transaction had ended. */
export class TransactionEnded extends Error {
  readonly code = 'TRANSACTION_ENDED';

  constructor() {
    super('A statement came after the end of its transaction, and was not sent');
  }
}

/** `work` went on after a statement of its transaction had failed, so nothing was committed. */
export class TransactionAborted extends Error {
  readonly code = 'TRANSACTION_ABORTED';

  constructor() {
    super('A statement had failed, so COMMIT rolled back');
  }
}

const parseSafeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond 2^53`);
  return value;
};

// OIDs of pg_type.
const int8 = 20;
const date = 1082;

/** int8 as a number (ours stay far below 2^53), `date` as its text: a calendar day has no zone. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const type: number = oid;
    if (type === int8) return parseSafeInteger;
    if (type === date) return (text: string) => text;
    return pg.types.getTypeParser(oid, format) as unknown;
  },
};

/** Sends the statements of an event-loop iteration in one write: each write costs as much as a small statement. */
class CorkedClient extends pg.Client {
  #corked = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.connection.on('dataRow', yieldCpu);
  }

  override readonly query: pg.Client['query'] = (...query: unknown[]) => {
    const { stream } = this.connection;
    if (!this.#corked) {
      this.#corked = true;
      stream.cork();
      process.nextTick(() => {
        this.#corked = false;
        stream.uncork();
      });
    }
    return super.query(...(query as [string])) as never;
  };
}

/** A pool that asks nothing of a PostgreSQL that is known to be silent. */
export class WatchedPool extends pg.Pool {
  /** When each connection in use was taken, in milliseconds of `performance.now`. */
  readonly #takenAt = new Map<pg.PoolClient, number>();

  constructor(
    config: pg.PoolConfig,
    private readonly silence: Silence | null,
    readonly logger: Logger,
  ) {
    super(config);
    this.on('acquire', (client) => this.#takenAt.set(client, performance.now()));
    this.on('release', (_error, client) => this.#takenAt.delete(client));
  }

  /**
   * Closes the connections that are in use since before `at`. After the network has lost bytes, they would
   * wait for an answer until their deadlines.
   */
  closeTakenBefore(at: number): void {
    for (const [client, takenAt] of this.#takenAt) {
      if (takenAt >= at) continue;
      // Whoever waits for a statement is told.
      (client as unknown as pg.Client).connection.stream.destroy();
    }
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(
    callback: (
      error: Error | undefined,
      client: pg.PoolClient | undefined,
      done: () => void,
    ) => void,
  ): void;
  override connect(
    callback?: (
      error: Error | undefined,
      client: pg.PoolClient | undefined,
      done: () => void,
    ) => void,
  ): Promise<pg.PoolClient> | undefined {
    if (this.silence?.isSilent === true) {
      if (!callback) return Promise.reject(new DatabaseSilent());
      callback(new DatabaseSilent(), undefined, () => undefined);
      return undefined;
    }
    if (!callback) return super.connect();
    super.connect(callback);
    return undefined;
  }
}

/**
 * What makes PostgreSQL plan a named statement once, for indexes alone. What is off makes a plan look expensive, and
 * expensive plans are compiled, for half a second.
 */
export const planByKey = (scope: 'SESSION' | 'LOCAL'): string =>
  ['plan_cache_mode = force_generic_plan']
    .concat(
      ['jit', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'].map(
        (name) => `${name} = off`,
      ),
    )
    .map((setting) => `SET ${scope} ${setting}`)
    .join('; ');

/**
 * Connections to PostgreSQL, bounded in number and in time.
 *
 * `name` stands in PostgreSQL's `pg_stat_activity`.
 */
export const createPool = (options: {
  readonly url: string;
  readonly name: string;
  readonly max: number;
  /** By default those of background work. */
  readonly deadlines?: DeadlineName;
  readonly silence?: Silence;
  /**
   * For statements that find rows by their keys: each is planned once, for indexes alone, and the plan serves
   * however the tables grow. To plan the statement of admission took five times as long as to run it.
   */
  readonly plansByKey?: boolean;
  readonly logger: Logger;
}): WatchedPool => {
  const { connect, statement, lock, idleInTransaction }: Deadlines =
    deadlines[options.deadlines ?? 'background'];
  const pool = new WatchedPool(
    {
      connectionString: options.url,
      application_name: `linklog ${options.name}`,
      max: options.max,
      connectionTimeoutMillis: connect,
      idleTimeoutMillis: 60_000,
      ...(statement !== null && {
        statement_timeout: statement,
        query_timeout: statement + answerGraceMs,
      }),
      ...(lock !== null && { lock_timeout: lock }),
      idle_in_transaction_session_timeout: idleInTransaction,
      // A statement need not wait for the answer to the one before.
      pipeline: true,
      Client: CorkedClient,
      types,
    },
    options.silence ?? null,
    options.logger,
  );
  // An idle connection that breaks is replaced at the next use; without a listener it would throw.
  pool.on('error', (err) => {
    // `end` does not wait for the connections' end, so the server's shutdown may come before it.
    if (pool.ending) return;
    options.logger.warn({ err, pool: options.name }, 'idle PostgreSQL connection lost');
  });
  // Between two users of a connection, and right after it was made, nobody listens for a moment. A loss
  // in that moment would end the process; now the next statement fails instead.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    // No error of the caller: where this fails, PostgreSQL plans as it does by default, and a connection that
    // was lost fails the next statement.
    if (options.plansByKey === true) client.query(planByKey('SESSION')).catch(() => undefined);
  });
  return pool;
};

const afterCommit = new WeakMap<Client, (() => void)[]>();

type OnBroken = (error: Error) => void;

/**
 * Runs `work` with a connection of the pool. One that broke meanwhile, or that has a transaction open, is
 * closed and not used again.
 */
export const withConnection = async <Result>(
  pool: Pool,
  work: (client: pg.PoolClient, onBroken: OnBroken) => Promise<Result>,
): Promise<Result> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onBroken = (error: Error): void => {
    broken = error;
  };
  // The pool listens to idle connections only; a loss that nobody listens to ends the process.
  client.on('error', onBroken);
  try {
    return await work(client, onBroken);
  } catch (error) {
    // A session keeps the default_transaction_read_only that it began with.
    const isReadOnly = hasCode(error, '25006');
    if (isReadOnly || (isUnavailable(error) && !isRefusal(error))) broken ??= error as Error;
    throw error;
  } finally {
    client.off('error', onBroken);
    client.release(broken ?? client.getTransactionStatus() !== 'I');
  }
};

/** SQLSTATE of a statement that PostgreSQL skips, because an earlier one of its transaction failed. */
const skipped = '25P02';

/** A statement that is parsed once for each connection. */
const prepared = (text: string) => ({ name: text, text });

/** Whether PostgreSQL refused a statement, on a connection that stays usable. */
const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'ERROR';

/** PostgreSQL itself rolls back the transaction of a lost connection. */
const rollBack = async (client: Client, reason: unknown, onBroken: OnBroken): Promise<void> => {
  if (!isUnavailable(reason) || isRefusal(reason)) await client.query('ROLLBACK').catch(onBroken);
};

/** @throws OutcomeUnknown, TransactionAborted, or why PostgreSQL refused */
const commit = async (client: Client, onBroken: OnBroken): Promise<void> => {
  let ended: string;
  try {
    ended = (await client.query(prepared('COMMIT'))).command;
  } catch (cause) {
    onBroken(cause as Error);
    // An answer from the server itself (it has a SQLSTATE) means that nothing was committed.
    if (isRefusal(cause)) throw cause;
    throw new OutcomeUnknown('The answer to COMMIT was lost', { cause });
  }
  // What PostgreSQL answers, without an error, where a statement had failed before.
  if (ended === 'ROLLBACK') throw new TransactionAborted();
};

/** What a transaction's code sends its statements with. After `end`, it sends nothing. */
const openTransaction = (client: Client) => {
  let isOpen = true;
  let firstFailure: unknown;
  const query = (...query: unknown[]): unknown => {
    if (!isOpen) return Promise.reject(new TransactionEnded());
    const result = client.query(...(query as [pg.QueryConfig]));
    result.catch((error: unknown) => {
      firstFailure ??= error;
    });
    return result;
  };
  return {
    tx: { query: query as Client['query'] },
    /** Why the transaction failed: a caller may await a skipped statement before the one that failed. */
    reasonOf: (error: unknown): unknown => (hasCode(error, skipped) ? firstFailure : error),
    end: (): void => {
      isOpen = false;
    },
  };
};

/** Calls what a committed transaction has left to call; none of it can change the outcome. */
const callAfterCommit = (pool: Pool, calls: Iterable<() => void>): void => {
  for (const call of calls) {
    try {
      call();
    } catch (err) {
      pool.logger.error({ err }, 'a callback of a committed transaction failed');
    }
  }
};

/**
 * The result of a committed transaction.
 *
 * @throws OutcomeUnknown when it cannot be made: the transaction has taken effect and must not run again
 */
const resultAfterCommit = <Result>(
  pool: Pool,
  write: Write<Result>,
  written: readonly PromiseSettledResult<pg.QueryResult>[],
): Result => {
  callAfterCommit(pool, write.afterCommit ? [write.afterCommit] : []);
  try {
    return write.resultOf(
      written.map((result) => {
        if (result.status === 'rejected') throw result.reason;
        return result.value;
      }),
    );
  } catch (cause) {
    throw new OutcomeUnknown('The transaction is committed, but its result is lost', { cause });
  }
};

/** Tries of a transaction in all. */
const attempts = 5;

/** Runs a transaction again that PostgreSQL rolled back because of transactions beside it. */
const retried = <Result>(run: () => Promise<Result>): Promise<Result> =>
  retry(run, { attempts, pauses: { firstMs: 5, longestMs: 50 }, isRetryable: isConflict });

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. The connection
 * stays with the caller, who is notified when it broke. A conflict with another transaction is not retried.
 *
 * @throws OutcomeUnknown when the answer to COMMIT is lost; TransactionAborted when `work` swallowed
 * the failure of a statement; otherwise what `work` threw.
 */
export const transactionOn = async <Result>(
  client: Client,
  work: (tx: Client) => Promise<Result>,
  onBroken: OnBroken = () => undefined,
): Promise<Result> => {
  const { tx, reasonOf, end } = openTransaction(client);
  let result: Result;
  try {
    await client.query(prepared('BEGIN'));
    result = await work(tx);
  } catch (error) {
    const reason = reasonOf(error);
    end();
    await rollBack(client, reason, onBroken);
    throw reason;
  }
  end();
  await commit(client, onBroken);
  return result;
};

/**
 * `transactionOn` a connection of the pool, and then the callbacks of `execute`. `work` may run several times: a
 * transaction that conflicts with others (40001, 40P01) is retried.
 */
export const transaction = <Result>(
  pool: Pool,
  work: (tx: Client) => Promise<Result>,
): Promise<Result> =>
  retried(() =>
    withConnection(pool, async (client, onBroken) => {
      const calls: (() => void)[] = [];
      const result = await transactionOn(
        client,
        (tx) => {
          afterCommit.set(tx, calls);
          return work(tx);
        },
        onBroken,
      );
      callAfterCommit(pool, calls);
      return result;
    }),
  );

/**
 * Sends the statements of a write in a transaction that is open. Its `afterCommit` is called when `transaction`
 * has committed.
 */
export const execute = async <Result>(tx: Client, write: Write<Result>): Promise<Result> => {
  const results = await Promise.all(
    write.statements.map((statement) => tx.query(encodeStatement(statement))),
  );
  if (write.afterCommit) afterCommit.get(tx)?.push(write.afterCommit);
  return write.resultOf(results);
};

/**
 * A `transaction` in two exchanges with PostgreSQL. `lock` sends its statements behind BEGIN, and waits for nothing
 * before it has sent them all. `decide` returns the statements to write as data: they are sent with COMMIT behind
 * them, and no code of the caller runs between the first of them and COMMIT. If a statement fails, PostgreSQL skips
 * those behind it and rolls back.
 *
 * @throws OutcomeUnknown when the answer to COMMIT is lost; otherwise what `lock` or `decide` threw, or why
 * PostgreSQL refused a statement. In all cases but OutcomeUnknown nothing was written.
 */
export const lockingTransaction = <Locked, Result>(
  pool: Pool,
  lock: (tx: Client) => Promise<Locked>,
  decide: (locked: Locked) => Write<Result>,
): Promise<Result> =>
  retried(() =>
    withConnection(pool, async (client, onBroken) => {
      const { tx, reasonOf, end } = openTransaction(client);
      let write: Write<Result>;
      let encoded: readonly pg.QueryConfig[];
      try {
        const [, locked] = await Promise.all([client.query(prepared('BEGIN')), lock(tx)]);
        write = decide(locked);
        encoded = write.statements.map(encodeStatement);
      } catch (error) {
        const reason = reasonOf(error);
        end();
        await rollBack(client, reason, onBroken);
        throw reason;
      }
      end();
      const [written, ended] = await Promise.all([
        Promise.allSettled(encoded.map((statement) => client.query(statement))),
        Promise.allSettled([commit(client, onBroken)]).then(([end]) => end),
      ]);
      if (ended.status === 'rejected') {
        const failed = written.find((result) => result.status === 'rejected');
        if (!failed || ended.reason instanceof OutcomeUnknown) throw ended.reason;
        throw failed.reason;
      }
      return resultAfterCommit(pool, write, written);
    }),
  );
