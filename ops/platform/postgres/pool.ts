import pg from 'pg';
import { giveWay } from '../concurrency/step-back.js';
import type { Logger } from '../logging.js';
import { DatabaseSilent, isAway, isReadOnly, isRefusal } from './away.js';
import { arrayLiteral } from './array-literal.js';
import { sendsByteParts } from './byte-parts.js';
import { readsByteTexts } from './byte-texts.js';
import { answerGraceMs, deadlines, type DeadlineName, type Deadlines } from './deadlines.js';
import { reasonOf, SharedSync, wasSkipped } from './shared-sync.js';
import type { Silence } from './silence.js';

/** A connection, or a transaction on it. */
export type Client = pg.ClientBase;
/** What runs one statement: a pool or a client. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
export type Pool = pg.Pool;

/**
 * Whether one of the commands that share a transaction may be to blame for its failure. PostgreSQL being
 * away is nobody's fault, and a COMMIT without an answer may have taken effect.
 */
export const mayBlameOne = (error: unknown): boolean =>
  !isAway(error) && !(error instanceof OutcomeUnknown);

/** The rows' values, an array for each field, as PostgreSQL writes arrays: the arguments of `unnest`. */
export const valuesByField = <Row>(
  rows: readonly Row[],
  ...fields: readonly (keyof Row)[]
): string[] =>
  fields.map((field) => {
    giveWay();
    return arrayLiteral(rows.map((row) => row[field]));
  });

/** `unnest` of a parameter for each column, $1 and so on: arrays of these SQL types. */
export const unnest = (types: readonly string[]): string =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;

/**
 * COMMIT was sent and its answer never came: the transaction may or may not have taken effect. It
 * must not be tried again blindly.
 */
export class OutcomeUnknown extends Error {
  readonly code = 'OUTCOME_UNKNOWN';
  readonly retryable = false;
}

/** `work` went on after a statement of its transaction had failed, so nothing was committed. */
export class TransactionAborted extends Error {
  readonly code = 'TRANSACTION_ABORTED';
  readonly retryable = false;

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

/**
 * Sends the statements of a turn of the event loop in one write: each write costs as much as a small statement. Those
 * of a transaction share their Sync.
 */
class CorkedClient extends pg.Client {
  readonly sync: SharedSync;
  #corked = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    sendsByteParts(this.connection);
    readsByteTexts(this.connection);
    this.sync = new SharedSync(this.connection);
    this.connection.on('dataRow', giveWay);
  }

  override readonly query: pg.Client['query'] = (...query: unknown[]) => {
    const { stream } = this.connection;
    if (!this.#corked) {
      this.#corked = true;
      stream.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.sync.send();
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

const committed = new WeakMap<Client, (() => void)[]>();

/** Calls `then` when the transaction that is open on the client has been committed, and only then. */
export const onCommit = (tx: Client, then: () => void): void => {
  committed.get(tx)?.push(then);
};

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
    if (isReadOnly(error) || (isAway(error) && !isRefusal(error))) broken ??= error as Error;
    throw error;
  } finally {
    client.off('error', onBroken);
    client.release(broken ?? client.getTransactionStatus() !== 'I');
  }
};

/** A statement that is sent in one go with those around it, and parsed once for each connection. */
const prepared = (text: string) => ({ name: text, text });

/** Of a connection that is away, PostgreSQL rolls back by itself. */
const rollBack = async (client: Client, reason: unknown, onBroken: OnBroken): Promise<void> => {
  if (!isAway(reason) || isRefusal(reason)) await client.query('ROLLBACK').catch(onBroken);
};

/** @throws OutcomeUnknown, TransactionAborted, or why PostgreSQL refused */
const commit = async (client: Client, onBroken: OnBroken): Promise<void> => {
  let ended: string;
  try {
    ended = (await client.query(prepared('COMMIT'))).command;
  } catch (cause) {
    if (wasSkipped(cause)) {
      await rollBack(client, cause, onBroken);
      throw new TransactionAborted();
    }
    onBroken(cause as Error);
    // An answer from the server itself (it has a SQLSTATE) means that nothing was committed.
    if (isRefusal(cause)) throw cause;
    throw new OutcomeUnknown('The answer to COMMIT was lost', { cause });
  }
  // What PostgreSQL answers, without an error, where a statement had failed before.
  if (ended === 'ROLLBACK') throw new TransactionAborted();
};

/** Runs a whole transaction, and then what `onCommit` was told. */
const thenCallCommitted = async <Result>(
  client: Client,
  work: () => Promise<Result>,
): Promise<Result> => {
  const callAfterwards: (() => void)[] = [];
  committed.set(client, callAfterwards);
  const sync = client instanceof CorkedClient ? client.sync : null;
  if (sync) sync.isOn = true;
  try {
    const result = await work();
    for (const call of callAfterwards) call();
    return result;
  } finally {
    if (sync) sync.isOn = false;
    committed.delete(client);
  }
};

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. The connection
 * stays with the caller, who is told when it broke.
 *
 * @throws OutcomeUnknown when the answer to COMMIT is lost; TransactionAborted when `work` swallowed
 * the failure of a statement; otherwise what `work` threw.
 */
export const transactionOn = <Result>(
  client: Client,
  work: () => Promise<Result>,
  onBroken: OnBroken = () => undefined,
): Promise<Result> =>
  thenCallCommitted(client, async () => {
    let result: Result;
    try {
      await client.query(prepared('BEGIN'));
      result = await work();
    } catch (error) {
      const reason = reasonOf(error);
      await rollBack(client, reason, onBroken);
      throw reason;
    }
    await commit(client, onBroken);
    return result;
  });

/** `transactionOn` a connection of the pool. */
export const transaction = <Result>(
  pool: Pool,
  work: (client: Client) => Promise<Result>,
): Promise<Result> =>
  withConnection(pool, (client, onBroken) => transactionOn(client, () => work(client), onBroken));

/**
 * A `transaction` in two exchanges. `lock` and `write` send all their statements before they first wait: those of
 * `lock` go out right behind BEGIN, and COMMIT right behind those of `write`. Behind one that fails, all are skipped.
 */
export const lockingTransaction = <Locked, Result>(
  pool: Pool,
  lock: (client: Client) => Promise<Locked>,
  write: (client: Client, locked: Locked) => Promise<Result>,
): Promise<Result> =>
  withConnection(pool, (client, onBroken) =>
    thenCallCommitted(client, async () => {
      let writing: Promise<Result>;
      try {
        const [, locked] = await Promise.all([client.query(prepared('BEGIN')), lock(client)]);
        writing = write(client, locked);
      } catch (error) {
        const reason = reasonOf(error);
        await rollBack(client, reason, onBroken);
        throw reason;
      }
      const [written, ended] = await Promise.allSettled([writing, commit(client, onBroken)]);
      const isUnknown = ended.status === 'rejected' && ended.reason instanceof OutcomeUnknown;
      if (written.status === 'rejected' && !isUnknown) throw reasonOf(written.reason);
      if (ended.status === 'rejected') throw ended.reason;
      return (written as PromiseFulfilledResult<Result>).value;
    }),
  );
