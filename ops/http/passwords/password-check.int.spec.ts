import { expect } from 'chai';
import { Overloaded } from '../../platform/concurrency/batcher.js';
import { PasswordHasher } from '../../platform/passwords/password-hasher.js';
import { databaseFixture } from '../../test/support/fixtures.js';
import { rejection } from '../../test/support/waiting.js';
import { PasswordCheck, type PasswordAttempt } from './password-check.js';
import { ClientHash, Throttle } from './throttle.js';

describe("redirect edge: check of a visitor's password", () => {
  const database = databaseFixture('password_check');

  const checksWith = (hasher: Pick<PasswordHasher, 'ensureCapacity' | 'verify'>): PasswordCheck =>
    new PasswordCheck(new ClientHash(database.pool), new Throttle(database.pool), hasher);

  const hashes = (count: number) =>
    new PasswordHasher().hashAll('a key', new Array<string>(count).fill('right'));

  it('refuses a throttled client without a check, even with the right password, and no other client', async () => {
    const hasher = new PasswordHasher();
    const [passwordHash = ''] = await hashes(1);
    let verified = 0;
    const checks = checksWith({
      ensureCapacity(...args) {
        hasher.ensureCapacity(...args);
      },
      verify(...args) {
        verified += 1;
        return hasher.verify(...args);
      },
    });
    const enter = (password: string, other: Partial<PasswordAttempt> = {}) =>
      checks.check({
        ...{ subject: 'spring', network: '198.51.100.7', passwordHash, password },
        ...other,
      });

    const outcomes = await Promise.all(Array.from({ length: 40 }, () => enter('wrong')));
    const counts = ['throttled', 'wrong'].map(
      (expected) => outcomes.filter(({ type }) => type === expected).length,
    );
    expect(counts).to.deep.equal([35, 5]);

    const refused = await enter('right');
    expect(refused.type === 'throttled' && refused.waitMs).to.be.within(1, 60_000);
    expect(verified).to.equal(5);
    for (const other of [{ network: '198.51.100.8' }, { subject: 'autumn' }])
      expect(await enter('right', other)).to.deep.equal({ type: 'right' });
  });

  it('refuses attempts beyond the capacity of the queue, before the throttle writes', async () => {
    const hasher = new PasswordHasher();
    const [passwordHash = ''] = await hashes(1);
    const waiting = Array.from({ length: 66 }, (_, index) =>
      hasher.verify(passwordHash, 'wrong', `${index}`).catch(() => false),
    );
    const attempt = { subject: 'full', network: '198.51.100.7', passwordHash, password: 'right' };
    const checks = checksWith(hasher);
    expect(await rejection(checks.check(attempt))).to.be.instanceOf(Overloaded);
    const { rowCount } = await database.pool.query(
      "SELECT FROM ledger.password_tries WHERE subject = 'full'",
    );
    expect(rowCount).to.equal(0);
    await Promise.all(waiting);
    expect(await checks.check(attempt)).to.deep.equal({ type: 'right' });
  });
});
