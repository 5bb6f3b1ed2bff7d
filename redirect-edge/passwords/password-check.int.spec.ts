import { expect } from 'chai';
import { PasswordHasher } from '../../ops/platform/passwords/password-hasher.js';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import { PasswordCheck, type PasswordTry, type TryOutcome } from './password-check.js';
import { ClientHash, Throttle } from './throttle.js';

describe("redirect edge: check of a visitor's password", () => {
  let database: TestDatabase;
  before(async () => {
    database = await testDatabase('password_check');
  });
  after(() => database.drop());

  it('refuses a waiting client from memory, even with the right password, and no other client', async () => {
    const hasher = new PasswordHasher();
    const [passwordHash = ''] = await hasher.hashAll('a key', ['right']);
    let verified = 0;
    const checks = new PasswordCheck(new ClientHash(database.pool), new Throttle(database.pool), {
      verify(...what) {
        verified += 1;
        return hasher.verify(...what);
      },
    });
    const enter = (password: string, other: Partial<PasswordTry> = {}): Promise<TryOutcome> =>
      checks.check({ code: 'spring', network: '198.51.100.7', passwordHash, password, ...other });

    const outcomes = await Promise.all(Array.from({ length: 8 }, () => enter('wrong')));
    const types = outcomes.map(({ type }) => type).toSorted();
    expect(types).to.deep.equal([
      ...Array.from({ length: 3 }, () => 'throttled'),
      ...Array.from({ length: 5 }, () => 'wrong'),
    ]);
    expect(verified).to.equal(5);

    await database.pool.query('DELETE FROM ledger.password_tries');
    const refused = await enter('right');
    expect(refused.type === 'throttled' && refused.waitMs).to.be.within(50_000, 60_000);
    expect(verified).to.equal(5);
    expect(await enter('right', { network: '198.51.100.8' })).to.deep.equal({ type: 'right' });
    expect(await enter('right', { code: 'autumn' })).to.deep.equal({ type: 'right' });
  });
});
