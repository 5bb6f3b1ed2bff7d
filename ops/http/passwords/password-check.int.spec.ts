import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { Overloaded } from '../../platform/concurrency/batcher.js';
import { PasswordHasher } from '../../platform/passwords/password-hasher.js';
import { databaseFixture } from '../../test/support/fixtures.js';
import { eventually, rejection } from '../../test/support/waiting.js';
import { PasswordCheck, type AttemptOutcome, type PasswordAttempt } from './password-check.js';
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

  it('lets visitors in during a flood from other networks, at the same links and at others', async () => {
    const subjects = ['flooded-1', 'flooded-2', 'quiet'];
    const passwordHashes = await hashes(subjects.length);
    const checks = checksWith(new PasswordHasher());
    const enter = (link: number, network: string, password: string): Promise<AttemptOutcome> => {
      const [subject = '', passwordHash = ''] = [subjects[link], passwordHashes[link]];
      return checks.check({ subject, network, passwordHash, password });
    };
    let flooding = true;
    let guesses = 0;
    const guesser = async (network: string): Promise<void> => {
      for (let guess = 0; flooding; guess += 1) {
        await enter(guess % 2, network, `wrong ${guess}`);
        guesses += 1;
        await sleep(10);
      }
    };
    const networks = Array.from({ length: 20 }, (_, index) => `2001:db8:1:${index}::/64`);
    const flood = Promise.all(networks.map(guesser));
    await eventually('each network guesses', () => guesses >= networks.length);
    const visitors: string[] = [];
    for (let visitor = 0; visitor < 9; visitor += 1) {
      visitors.push((await enter(visitor % 3, `2001:db8:2:${visitor}::/64`, 'right')).type);
    }
    flooding = false;
    await flood;
    expect(visitors).to.deep.equal(visitors.map(() => 'right'));
  });
});
