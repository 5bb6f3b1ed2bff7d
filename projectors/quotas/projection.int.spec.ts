import { expect } from 'chai';
import { created, metered, rendered } from '../../schemas/testing/events.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { quotas } from './projection.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

describe('projectors: projection quotas', () => {
  const database = databaseFixture('quotas');
  const given = fixture(() => feed(database.pool, quotas));

  beforeEach(() => emptyTables(database.pool, 'projection_quotas'));

  const months = async (): Promise<readonly unknown[]> => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      'SELECT * FROM projection_quotas.months ORDER BY key_id, month',
    );
    return rows;
  };

  const row = (key_id: string, month: string, counts: object) => ({
    ...{ key_id, month: `${month}-01`, calls: 0, links: 0, qr_codes: 0 },
    ...counts,
  });

  it('counts links, calls and QR codes by key, in several batches', async () => {
    const [first, second] = [{ keyId: 'key-1' }, { keyId: 'key-2' }];
    await given.events(created('a', first), created('b', second), created('c', first));
    await given.events(metered('key-1', 1, 40), rendered('key-1', 2));
    await given.events(metered('key-1', 3, 2), rendered('key-1', 4), created('d', first));
    expect(await months()).to.deep.equal([
      row('key-1', '2026-05', { calls: 42, links: 3, qr_codes: 2 }),
      row('key-2', '2026-05', { links: 1 }),
    ]);
  });

  it('counts in UTC months to the last millisecond, and calls in the month of their minute', async () => {
    await given.events(
      created('a', {}, { time: new Date('2026-05-31T23:59:59.999Z') }),
      created('b', {}, { time: new Date('2026-06-01T00:00:00.000Z') }),
      rendered('key-1', 1, new Date('2026-12-31T23:59:59.999Z')),
      rendered('key-1', 2, new Date('2027-01-01T00:00:00.000Z')),
      metered('key-1', 3, 7, new Date('2026-04-30T23:59:00.000Z')),
    );
    expect(await months()).to.deep.equal([
      row('key-1', '2026-04', { calls: 7 }),
      row('key-1', '2026-05', { links: 1 }),
      row('key-1', '2026-06', { links: 1 }),
      row('key-1', '2026-12', { qr_codes: 1 }),
      row('key-1', '2027-01', { qr_codes: 1 }),
    ]);
  });
});
