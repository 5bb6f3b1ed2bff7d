import { expect } from 'chai';
import { LedgerClock } from '../../ops/ledger/clock.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import { rejection } from '../../ops/test/support/waiting.js';
import {
  findRecords,
  deleteExpiredRecords,
  saveRecords,
  type IdempotencyRecord,
} from './idempotency-records.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const answer = (told: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  keyId: 'key-1',
  path: '/v2/shorten',
  idempotencyKey: 'order-1',
  bodyHash: Buffer.alloc(32, 1),
  status: 201,
  answer: '{"shortCode":"spring"}',
  isOutline: false,
  codes: ['spring', 'summer'],
  ...told,
});

const hour = 3_600_000;

describe('command API: kept answers', () => {
  const database = databaseFixture('idempotency');
  const clock = fixture(() => new LedgerClock(database.pool));

  beforeEach(() => database.pool.query('DELETE FROM ledger.idempotency'));

  const save = (age: number, ...answers: readonly IdempotencyRecord[]): Promise<void> =>
    transaction(database.pool, (tx) =>
      execute(tx, writeOnly(saveRecords(answers, new Date(Date.now() - age)))),
    );

  it('are found as they were kept, in the order in which they are asked for', async () => {
    const kept = [
      answer(),
      answer({ keyId: 'key-2', answer: 'of another key' }),
      answer({
        path: '/v2/shorten/batch',
        status: 200,
        answer: 'of another path',
        isOutline: true,
      }),
      answer({ idempotencyKey: 'Order-1', answer: 'of another Idempotency-Key' }),
    ];
    await save(0, ...kept);
    const unknown = answer({ idempotencyKey: 'order-2' });
    const [first, ...others] = [...kept].reverse();
    if (!first) throw new Error('There are answers');
    const scopes = [first, unknown, ...others, first];
    expect(await findRecords(database.pool, scopes, clock)).to.deep.equal([
      first,
      null,
      ...others,
      first,
    ]);
    expect(await findRecords(database.pool, [], clock)).to.deep.equal([]);
  });

  it('are good for 24 hours, and give way to a new one then', async () => {
    const late = answer({ idempotencyKey: 'late' });
    await save(23.9 * hour, late);
    await save(24.1 * hour, answer());
    expect(await findRecords(database.pool, [late, answer()], clock)).to.deep.equal([late, null]);
    const next = answer({ bodyHash: Buffer.alloc(32, 2), status: 200, answer: 'the next' });
    await save(0, next);
    expect(await findRecords(database.pool, [answer()], clock)).to.deep.equal([next]);
  });

  it('are forgotten when they are good no longer', async () => {
    const late = answer({ idempotencyKey: 'late' });
    await save(24.1 * hour, answer(), answer({ keyId: 'key-2' }));
    await save(23.9 * hour, late);
    expect(await deleteExpiredRecords(database.pool, clock)).to.equal(2);
    expect(await deleteExpiredRecords(database.pool, clock)).to.equal(0);
    expect(await findRecords(database.pool, [late], clock)).to.deep.equal([late]);
  });

  it('are not there before the deciding transaction is', async () => {
    const aborted = transaction(database.pool, async (tx) => {
      await execute(tx, writeOnly(saveRecords([answer()], new Date())));
      expect(await findRecords(database.pool, [answer()], clock)).to.deep.equal([null]);
      throw new Error('given up');
    });
    // What else it may fail with, the expectation above included, fails the test.
    expect(await rejection(aborted)).to.include({ message: 'given up' });
    expect(await findRecords(database.pool, [answer()], clock)).to.deep.equal([null]);
  });
});
