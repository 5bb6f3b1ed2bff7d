import { expect } from 'chai';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import { blocked, created, unblocked } from '../../schemas/testing/events.js';
import { feed, type Feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { history } from './projection.js';

describe('projectors: projection history', () => {
  let database: TestDatabase;
  let given: Feed;

  before(async () => {
    database = await testDatabase('history');
    given = feed(database.pool, history);
  });

  beforeEach(() => emptyTables(database.pool, 'projection_history'));

  after(() => database.drop());

  const rows = async (): Promise<readonly { code: string; sequence: number; event: string }[]> =>
    (
      await database.pool.query<{ code: string; sequence: number; event: string }>(
        'SELECT * FROM projection_history.events ORDER BY code, sequence',
      )
    ).rows;

  it('has every event of a link, in its order', async () => {
    await given.events(created('abc'), blocked('abc', 2), created('xyz'), unblocked('abc', 3));
    expect(
      (await rows()).map(({ code, sequence, event }) => [
        code,
        sequence,
        (JSON.parse(event) as { type: string }).type,
      ]),
    ).to.deep.equal([
      ['abc', 1, 'linklog.LinkCreated.v1'],
      ['abc', 2, 'linklog.LinkBlocked.v1'],
      ['abc', 3, 'linklog.LinkUnblocked.v1'],
      ['xyz', 1, 'linklog.LinkCreated.v1'],
    ]);
  });

  it('holds no secret', async () => {
    await given.events(created('abc', { passwordHash: '$argon2id$secret' }));
    const [row] = await rows();
    expect(row?.event).not.to.contain('argon2id');
    expect(row?.event).to.contain('"url"');
  });
});
