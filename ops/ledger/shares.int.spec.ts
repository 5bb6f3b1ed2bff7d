import { expect } from 'chai';
import { evolveShare, type ShareState } from '../../schemas/folds/share.js';
import { noSubject } from '../../schemas/folds/subject-state.js';
import { recordOf, shareEnded, statisticsShared } from '../../schemas/testing/events.js';
import { topics } from '../../schemas/events/topics.js';
import { execute, transaction } from '../platform/postgres/pool.js';
import { writeOnly } from '../platform/postgres/statement.js';
import { databaseFixture } from '../test/support/fixtures.js';
import { addToLedger } from './rebuild/rebuild.js';
import { readShares, shares } from './shares.js';

describe('ledger: shares', () => {
  const database = databaseFixture('shares');

  const hour = 3_600_000;
  const terms = {
    tokenHash: 'a-token',
    passwordHash: 'a-hash',
    showDestination: true,
    expiresAt: new Date(Date.now() + hour).toISOString(),
  };
  const shared = statisticsShared('s1', terms);
  const ended = shareEnded('s1', 2);

  const save = (id: string, state: ShareState): Promise<unknown> =>
    transaction(database.pool, async (tx) => {
      await shares.lock(tx, [id]);
      await execute(tx, writeOnly(shares.save(new Map([[id, state]]))));
    });
  const read = (...ids: readonly string[]) =>
    transaction(database.pool, (tx) => shares.lock(tx, ids));

  beforeEach(() => database.pool.query('DELETE FROM ledger.shares'));

  it('are read as they were saved, before and after their end', async () => {
    const state = evolveShare(noSubject, shared);
    await save('s1', state);
    expect(await read('s1', 's2')).to.deep.equal(new Map([['s1', state]]));
    const end = evolveShare(state, ended);
    await save('s1', end);
    expect(await read('s1')).to.deep.equal(new Map([['s1', end]]));
    const { rows } = await database.pool.query(
      'SELECT token_hash, password_hash FROM ledger.shares',
    );
    expect(rows).to.deep.equal([{ token_hash: null, password_hash: null }]);
  });

  it('are found by link and by token until they end or expire', async () => {
    const found = async () =>
      Promise.all([
        readShares(database.pool, 'link', 'spring'),
        readShares(database.pool, 'token_hash', 'a-token'),
      ]);
    const state = evolveShare(noSubject, shared);
    await save('s1', state);
    expect(await found()).to.deep.equal([new Map([['s1', state]]), new Map([['s1', state]])]);
    const past = new Date(Date.now() - 1_000).toISOString();
    await save('s1', evolveShare(noSubject, statisticsShared('s1', { ...terms, expiresAt: past })));
    expect(await found()).to.deep.equal([new Map(), new Map()]);
    await save('s1', evolveShare(state, ended));
    expect(await found()).to.deep.equal([new Map(), new Map()]);
    expect(await readShares(database.pool, 'token_hash', '')).to.deep.equal(new Map());
  });

  it('are rebuilt from the log, and repeats change nothing', async () => {
    const events = [shared, statisticsShared('s2', { tokenHash: 'b' }), ended, shared];
    const records = events.map((event, offset) => ({ ...recordOf(event), offset }));
    const add = () =>
      transaction(database.pool, (tx) => addToLedger(tx, 'ledger', topics.accounts.name, records));
    await add();
    const states = await read('s1', 's2');
    expect([...states.values()].map(({ status }) => status)).to.deep.equal(['ended', 'shared']);
    await add();
    expect(await read('s1', 's2')).to.deep.equal(states);
  });
});
