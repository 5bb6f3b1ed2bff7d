import { expect } from 'chai';
import { testDatabase, type TestDatabase } from '../../test/support/database.js';
import { createLogger } from '../logging.js';
import {
  createPool,
  lockingTransaction,
  transaction,
  TransactionAborted,
  type Client,
  type Pool,
} from './pool.js';
import { hasCode } from '../errors.js';
import { rejection } from '../../test/support/waiting.js';

const logger = createLogger('silent');

describe('platform: statements in a pipeline', () => {
  let database: TestDatabase;
  let pool: Pool;

  before(async () => {
    database = await testDatabase('sync');
    await database.pool.query('CREATE TABLE notes (id integer PRIMARY KEY)');
    pool = createPool({ url: database.url, name: 'one', max: 1, logger });
  });

  afterEach(() => database.pool.query('TRUNCATE notes'));

  after(async () => {
    await pool.end();
    await database.drop();
  });

  const note = (tx: Client, id: unknown) =>
    tx.query({ name: 'note', text: 'INSERT INTO notes VALUES ($1)', values: [id] });

  const notes = async (): Promise<readonly number[]> => {
    const { rows } = await database.pool.query<{ id: number }>('SELECT id FROM notes ORDER BY id');
    return rows.map(({ id }) => id);
  };

  /** The outcomes of statements that a transaction sends without awaiting a result. */
  const sendTogether = (...statements: readonly ((tx: Client) => Promise<unknown>)[]) => {
    let outcomes: readonly PromiseSettledResult<unknown>[] = [];
    const committed = transaction(pool, async (tx) => {
      outcomes = await Promise.allSettled(statements.map((send) => send(tx)));
    });
    return committed.then(
      () => ({ outcomes, failure: null }),
      (failure: unknown) => ({ outcomes, failure }),
    );
  };

  it('get their own results on a new connection', async () => {
    const newPool = createPool({
      url: database.url,
      name: 'new',
      max: 1,
      plansByKey: true,
      logger,
    });
    try {
      const select = (tx: Client, number: number) =>
        tx.query<{ number: number }>('SELECT $1::integer AS number', [number]);
      const rows = await lockingTransaction(
        newPool,
        (tx) => Promise.all([select(tx, 1), select(tx, 2)]),
        (locked) => ({
          statements: [{ text: 'SELECT $1::integer AS number', values: [3] }],
          resultOf: (results) =>
            [...locked, ...results].flatMap(({ rows }) => rows as { readonly number: number }[]),
        }),
      );
      expect(rows.map(({ number }) => number)).to.deep.equal([1, 2, 3]);
    } finally {
      await newPool.end();
    }
  });

  it('are skipped after a failed statement, and the connection stays usable', async () => {
    const { outcomes, failure } = await sendTogether(
      (tx) => note(tx, 1),
      (tx) => note(tx, 1),
      (tx) => note(tx, 2),
      (tx) => tx.query({ name: 'never parsed before', text: 'SELECT 1 AS one' }),
      (tx) => tx.query('SELECT 2 AS two'),
    );
    expect(outcomes.map(({ status }) => status)).to.deep.equal(
      ['fulfilled'].concat(Array.from({ length: 4 }, () => 'rejected')),
    );
    const reasons = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as unknown) : null,
    );
    expect(reasons[1]).to.include({ code: '23505' });
    expect(reasons.slice(2).map((reason) => hasCode(reason, '25P02'))).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect(failure).to.be.instanceOf(TransactionAborted);

    const { rows } = await transaction(pool, (tx) =>
      tx.query<{ one: number }>({ name: 'never parsed before', text: 'SELECT 1 AS one' }),
    );
    expect(rows).to.deep.equal([{ one: 1 }]);
    expect(await notes()).to.deep.equal([]);
  });

  it('run before a query of several statements', async () => {
    const { outcomes, failure } = await sendTogether(
      (tx) => note(tx, 1),
      (tx) => tx.query('SELECT 1; SELECT 2'),
      (tx) => note(tx, 2),
    );
    expect(failure).to.equal(null);
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await notes()).to.deep.equal([1, 2]);
  });

  it('are not blocked by a statement whose parameter cannot be encoded', async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const failed = rejection(
      transaction(pool, (tx) =>
        Promise.all([note(tx, 1), tx.query('SELECT $1', [circular]), note(tx, 2)]),
      ),
    );
    expect(await failed).to.be.instanceOf(TypeError);
    await transaction(pool, (tx) => note(tx, 3));
    expect(await notes()).to.deep.equal([3]);
  });
});
