import { expect } from 'chai';
import { LedgerClock } from '../../ops/ledger/clock.js';
import { execute, transaction } from '../../ops/platform/postgres/pool.js';
import {
  findRecords,
  deleteExpiredRecords,
  saveRecords,
  type IdempotencyRecord,
} from './idempotency.js';
import { writeOnly } from '../../ops/platform/postgres/statement.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const record = (changes: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  ...{ keyId: 'key-1', path: '/v2/shorten', idempotencyKey: 'order-1' },
  ...{ bodyHash: Buffer.alloc(32, 1), status: 201, body: '{"shortCode":"spring"}' },
  ...{ isOutline: false, subjects: ['spring', 'summer'] },
  ...changes,
});

const hour = 3_600_000;

describe('command API: idempotency records', () => {
  const database = databaseFixture('idempotency');
  const clock = fixture(() => new LedgerClock(database.pool));

  beforeEach(() => database.pool.query('DELETE FROM ledger.idempotency'));

  const save = (age: number, ...records: readonly IdempotencyRecord[]): Promise<void> =>
    transaction(database.pool, (tx) =>
      execute(tx, writeOnly(saveRecords(records, new Date(Date.now() - age)))),
    );

  it('are found by key, path and Idempotency-Key, in the order of the scopes', async () => {
    const first = record();
    const others = [
      record({ keyId: 'key-2', body: 'of another key' }),
      record({ path: '/v2/shorten/batch', body: 'of another path', isOutline: true }),
      record({ idempotencyKey: 'Order-1', body: 'of another Idempotency-Key', status: 200 }),
    ];
    await save(0, first, ...others);
    const unknown = record({ idempotencyKey: 'order-2' });
    const scopes = [...others.reverse(), unknown, first, first];
    const expected = [...others, null, first, first];
    expect(await findRecords(database.pool, scopes, clock)).to.deep.equal(expected);
    expect(await findRecords(database.pool, [], clock)).to.deep.equal([]);
  });

  it('are valid for 24 hours, and are replaced afterwards', async () => {
    const valid = record({ idempotencyKey: 'valid' });
    await save(23.9 * hour, valid);
    await save(24.1 * hour, record());
    expect(await findRecords(database.pool, [valid, record()], clock)).to.deep.equal([valid, null]);
    expect(await deleteExpiredRecords(database.pool, clock)).to.equal(1);
    expect(await deleteExpiredRecords(database.pool, clock)).to.equal(0);
    expect(await findRecords(database.pool, [valid], clock)).to.deep.equal([valid]);
    await save(24.1 * hour, record());
    const next = record({ bodyHash: Buffer.alloc(32, 2), status: 200, body: 'the next' });
    await save(0, next);
    expect(await findRecords(database.pool, [record()], clock)).to.deep.equal([next]);
  });
});
