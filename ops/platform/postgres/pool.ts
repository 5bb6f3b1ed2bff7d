import pg from 'pg';
import type { Logger } from '../logging.js';
import { retry } from '../concurrency/retry.js';
import { isConflict, isUnavailable } from '../error-codes.js';
import { hasCode } from '../errors.js';
import { RoutedClient } from './client.js';
import { responseGraceMs, deadlines, type DeadlineName, type Deadlines } from './deadlines.js';
import { stateGeneration } from './generation.js';
import type { Silence } from './silence.js';
import { encodeParameter, encodeStatement, type Write } from './statement.js';
import type { Tracer } from '../tracing.js';

/** A pool, a connection or a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
/** A connection, or a transaction on it. */
export type Client = Queryable;
export type Pool = WatchedPool;

/** Returns an array for each field: the arguments of `unnest`. */
export const valuesByField = <Row>(
  rows: readonly Row[],
  ...fields: readonly (keyof Row)[]
): unknown[][] => fields.map((field) => rows.map((row) => row[field]));

/** Returns an `unnest` of one parameter for each column. */
export const unnest = (types: readonly string[]): string =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;

/** PostgreSQL is silent, so the statement was not sent. */
class DatabaseSilent extends Error {
  readonly code = 'DATABASE_SILENT';

  constructor() {
    super('postgres is unreachable');
  }
}

/** The response to COMMIT was lost. The transaction may have taken effect, so it must not be retried blindly. */
export class OutcomeUnknown extends Error {
  readonly code = 'OUTCOME_UNKNOWN';
}

export class TransactionEnded extends Error {
  readonly code = 'TRANSACTION_ENDED';

  constructor() {
    super('the transaction had ended, so the statement was not sent');
  }
}

/** `work` ignored the failure of a statement, so COMMIT rolled back. */
export class TransactionAborted extends Error {
  readonly code = 'TRANSACTION_ABORTED';

  constructor() {
    super('a statement had failed, so COMMIT rolled back');
  }
}

const parseSafeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is not a safe integer`);
  return value;
};

// OIDs of pg_type.
const int8 = 20;
const date = 1082;

/** Parses int8 as a number, and leaves `date` as text, because a calendar day has no time zone. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const type: number = oid;
    if (type === int8) return parseSafeInteger;
    if (type === date) return (text: string) => text;
    return pg.types.getTypeParser(oid, format) as unknown;
  },
};

/** Encodes the parameters of a call of `query`: `(text, values)` or `({ text, values })`. */
const encodeCall = ([query, values, ...others]: unknown[]): unknown[] => {
  if (Array.isArray(values)) return [query, values.map(encodeParameter), ...others];
  const { values: own } = query as { readonly values?: unknown };
  return Array.isArray(own)
    ? [{ ...(query as object), values: own.map(encodeParameter) }, values, ...others]
    : [query, values, ...others];
};

/** Sends the statements of an event-loop iteration in one write, which costs as much as a small statement. */
class CorkedClient extends RoutedClient {
  #corked = false;

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
    return super.query(...(encodeCall(query) as [string])) as never;
  };
}

/** A pool that sends no statements while PostgreSQL is silent. */
export class WatchedPool extends pg.Pool {
  /** The acquisition time of each connection in use (`performance.now()`). */
  readonly #acquiredAt = new Map<pg.ClientBase, number>();
  readonly #clients = new Set<RoutedClient>();

  constructor(
    config: pg.PoolConfig,
    private readonly silence: Silence | null,
    readonly logger: Logger,
    /** `null` without tracing. */
    readonly tracer: Tracer | null = null,
  ) {
    super({ ...config, Client: CorkedClient });
    this.on('connect', (client) => this.#clients.add(client as unknown as RoutedClient));
    this.on('remove', (client) => this.#clients.delete(client as unknown as RoutedClient));
    this.on('acquire', (client) => this.#acquiredAt.set(client, performance.now()));
    this.on('release', (_error, client) => this.#acquiredAt.delete(client));
  }

  /**
   * Closes connections that were acquired before `at`, because the network may have lost their responses, and connections
   * to a server that is not used any more.
   */
  closeLostBefore(at: number): void {
    for (const client of this.#clients) {
      const acquiredAt = this.#acquiredAt.get(client) ?? Infinity;
      // This rejects pending statements.
      if (acquiredAt < at || client.isOutdated) client.connection.stream.destroy();
    }
  }

  override connect = ((callback?: Parameters<pg.Pool['connect']>[0]) => {
    const isSilent = this.silence?.isSilent === true;
    if (!callback) return isSilent ? Promise.reject(new DatabaseSilent()) : super.connect();
    if (isSilent) callback(new DatabaseSilent(), undefined, () => undefined);
    else super.connect(callback);
    return undefined;
  }) as pg.Pool['connect'];
}

/**
 * Makes PostgreSQL plan a named statement once, with index scans only. `jit` is off too: disabled scan types raise the
 * estimated cost, and a high cost starts the JIT compiler (0.5 s).
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

export const createPool = (options: {
  readonly url: string;
  /** The name in `pg_stat_activity`. */
  readonly name: string;
  readonly max: number;
  /** The default is `background`. */
  readonly deadlines?: DeadlineName;
  readonly silence?: Silence;
  /**
   * Whether statements find rows by keys: each is planned once, with index scans only. To plan the statement of admission
   * took five times as long as to execute it.
   */
  readonly plansByKey?: boolean;
  /** Callers create spans of their transactions with it. */
  readonly tracer?: Tracer | null;
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
      ...(statement !== null && { query_timeout: statement + responseGraceMs }),
      // A statement does not wait for the response of the previous one.
      pipeline: true,
      types,
    },
    options.silence ?? null,
    options.logger,
    options.tracer ?? null,
  );
  // An idle connection that breaks is replaced at the next use. An error event without a listener would throw.
  pool.on('error', (err) => {
    // `end` does not wait for the connections, so the server may shut down first.
    if (pool.ending) return;
    options.logger.warn({ err, pool: options.name }, 'idle PostgreSQL connection lost');
  });
  // Not in the startup message, because PgBouncer rejects these settings there. As the first statement of a pipeline, it
  // costs no round trip.
  const settings = [
    stateGeneration,
    ...(statement === null ? [] : [`SET statement_timeout = ${statement}`]),
    ...(lock === null ? [] : [`SET lock_timeout = ${lock}`]),
    `SET idle_in_transaction_session_timeout = ${idleInTransaction}`,
    ...(options.plansByKey === true ? [planByKey('SESSION')] : []),
  ].join('; ');
  pool.on('connect', (client) => {
    client.query(settings).catch(() => {
      // A connection without deadlines must not be used. This rejects its next statements.
      (client as unknown as pg.Client).connection.stream.destroy();
    });
  });
  return pool;
};

const afterCommit = new WeakMap<Client, (() => void)[]>();

type OnBroken = (error: Error) => void;

/** Runs `work` with a connection of the pool, which is closed afterwards if it broke or has an open transaction. */
export const withConnection = async <Result>(
  pool: Pool,
  work: (client: pg.PoolClient, onBroken: OnBroken) => Promise<Result>,
): Promise<Result> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onBroken = (error: Error): void => {
    broken = error;
  };
  // The pool listens to idle connections only, and an error event without a listener ends the process.
  client.on('error', onBroken);
  try {
    return await work(client, onBroken);
  } catch (error) {
    // A session keeps the default_transaction_read_only of its start.
    const isReadOnly = hasCode(error, '25006');
    if (isReadOnly || (isUnavailable(error) && !isRefusal(error))) broken ??= error as Error;
    throw error;
  } finally {
    client.off('error', onBroken);
    client.release(broken ?? client.getTransactionStatus() !== 'I');
  }
};

/** SQLSTATE of a statement that PostgreSQL skips after a failed one of the transaction. */
const skipped = '25P02';

/** A statement that is parsed once for each connection. */
const prepared = (text: string) => ({ name: text, text });

/** Whether PostgreSQL rejected a statement, on a connection that stays usable. */
const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'ERROR';

/** PostgreSQL rolls back the transaction of a lost connection. */
const rollBack = async (client: Client, reason: unknown, onBroken: OnBroken): Promise<void> => {
  if (!isUnavailable(reason) || isRefusal(reason)) await client.query('ROLLBACK').catch(onBroken);
};

/** @throws OutcomeUnknown; TransactionAborted; the error of PostgreSQL */
const commit = async (client: Client, onBroken: OnBroken): Promise<void> => {
  let ended: string;
  try {
    ended = (await client.query(prepared('COMMIT'))).command;
  } catch (cause) {
    onBroken(cause as Error);
    // An error of the server means that nothing was committed.
    if (isRefusal(cause)) throw cause;
    throw new OutcomeUnknown('the response to COMMIT was lost', { cause });
  }
  // The response of PostgreSQL if a statement had failed.
  if (ended === 'ROLLBACK') throw new TransactionAborted();
};

/**
 * Runs `work`, which begins a transaction, and rolls it back after a failure. Its client sends nothing afterwards.
 *
 * @throws the error of `work`; that of the first failed statement instead of that of a skipped one
 */
const uncommitted = async <Result>(
  client: Client,
  onBroken: OnBroken,
  work: (tx: Client) => Promise<Result>,
): Promise<Result> => {
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
  try {
    return await work({ query: query as Client['query'] });
  } catch (error) {
    const reason = hasCode(error, skipped) ? firstFailure : error;
    isOpen = false;
    await rollBack(client, reason, onBroken);
    throw reason;
  } finally {
    isOpen = false;
  }
};

const callAfterCommit = (pool: Pool, calls: Iterable<() => void>): void => {
  for (const call of calls) {
    try {
      call();
    } catch (err) {
      pool.logger.error({ err }, 'a callback of a committed transaction failed');
    }
  }
};

/** @throws OutcomeUnknown if `resultOf` fails, because the transaction is committed and must not run again */
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
    throw new OutcomeUnknown('the transaction is committed, but its result is lost', { cause });
  }
};

/** The maximum number of attempts of a transaction. */
const attempts = 5;

/** Retries a transaction that PostgreSQL rolled back because of a concurrent one. */
const retried = <Result>(run: () => Promise<Result>): Promise<Result> =>
  retry(run, { attempts, pauses: { firstMs: 5, longestMs: 50 }, isRetryable: isConflict });

/**
 * Runs `work` in a transaction on a connection of the caller. Conflicts are not retried.
 *
 * @throws OutcomeUnknown; TransactionAborted if `work` ignored a failed statement; the error of `work`
 */
export const transactionOn = async <Result>(
  client: Client,
  work: (tx: Client) => Promise<Result>,
  onBroken: OnBroken = () => undefined,
): Promise<Result> => {
  const result = await uncommitted(client, onBroken, async (tx) => {
    await client.query(prepared('BEGIN'));
    return work(tx);
  });
  await commit(client, onBroken);
  return result;
};

/** Runs `work` in a transaction, then the callbacks of `execute`. Conflicts (40001, 40P01) are retried. */
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
 * Sends the statements of a write in an open `transaction`, which calls `afterCommit` after COMMIT.
 *
 * @throws if the transaction is of `transactionOn`, which calls nothing after COMMIT
 */
export const execute = async <Result>(tx: Client, write: Write<Result>): Promise<Result> => {
  const calls = afterCommit.get(tx);
  if (write.afterCommit && !calls) {
    throw new Error('a write with afterCommit was executed outside of `transaction`');
  }
  const results = await Promise.all(
    write.statements.map((statement) => tx.query(encodeStatement(statement))),
  );
  if (write.afterCommit) calls?.push(write.afterCommit);
  return write.resultOf(results);
};

/**
 * Runs a transaction. `lock` sends its statements together with BEGIN, except for those that need the result of another
 * one: each of these costs a round trip in which the locks are held. `decide` returns the statements to write, which are
 * sent together with COMMIT, so no code of the caller runs in between. If one fails, PostgreSQL skips the rest and rolls
 * back.
 *
 * @throws OutcomeUnknown; otherwise nothing was written: the error of `lock`, `decide` or PostgreSQL
 */
export const lockingTransaction = <Locked, Result>(
  pool: Pool,
  lock: (tx: Client) => Promise<Locked>,
  decide: (locked: Locked) => Write<Result>,
): Promise<Result> =>
  retried(() =>
    withConnection(pool, async (client, onBroken) => {
      const { write, encoded } = await uncommitted(client, onBroken, async (tx) => {
        const [, locked] = await Promise.all([client.query(prepared('BEGIN')), lock(tx)]);
        const write = decide(locked);
        return { write, encoded: write.statements.map(encodeStatement) };
      });
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
