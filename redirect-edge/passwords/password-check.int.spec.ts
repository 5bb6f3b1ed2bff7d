import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { PasswordHasher } from '../../ops/platform/passwords/password-hasher.js';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import { eventually } from '../../ops/test/support/waiting.js';
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
      needsHash: (...what) => hasher.needsHash(...what),
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

  describe('in a flood of guesses from many networks', () => {
    const right = 'right';
    let passwordHash: string;
    before(async () => {
      [passwordHash = ''] = await new PasswordHasher().hashAll('a key', [right]);
    });

    const flood = async (
      checks: PasswordCheck,
      networks: readonly string[],
      codes: readonly string[],
    ) => {
      let flooding = true;
      let guesses = 0;
      const outcomes: TryOutcome['type'][] = [];
      const guesser = async (network: string): Promise<void> => {
        for (let guess = 0; flooding; guess += 1) {
          const code = codes[guess % codes.length] ?? '';
          const password = `wrong ${guesses}`;
          guesses += 1;
          const { type } = await checks.check({ code, network, passwordHash, password });
          outcomes.push(type);
          // As often as a hundred times a second.
          await sleep(10);
        }
      };
      const ended = Promise.all(networks.flatMap((each) => [guesser(each), guesser(each)]));
      await eventually('each network was heard of', () => outcomes.length > 5 * networks.length);
      return {
        outcomes,
        async end(): Promise<void> {
          flooding = false;
          await ended;
        },
      };
    };

    const forms: readonly (readonly [string, (index: number) => string])[] = [
      ['40 /64s of one /48', (index) => `2001:db8:1:${index}::/64`],
      ['40 addresses far apart', (index) => `${index + 11}.0.113.1`],
    ];
    for (const [what, network] of forms) {
      it(`${what}: visitors from other networks get in, at the same link and at others`, async () => {
        const hasher = new PasswordHasher();
        const { pool } = database;
        const checks = new PasswordCheck(new ClientHash(pool), new Throttle(pool), hasher);
        const networks = Array.from({ length: 40 }, (_, index) => network(index));
        const codes = [what.length, 'a', 'b'].map((each) => `flooded-${each}`);
        const attack = await flood(checks, networks, codes);
        expect(hasher.needsHash(passwordHash, right)).to.equal(true);
        const visitors: string[] = [];
        for (let visitor = 0; visitor < 20; visitor += 1) {
          const code = [...codes, 'quiet'][visitor % 4] ?? '';
          const from = `2001:db8:2:${visitor}::/64`;
          const { type } = await checks.check({
            code,
            network: from,
            passwordHash,
            password: right,
          });
          visitors.push(type);
        }
        await attack.end();
        expect(visitors).to.deep.equal(visitors.map(() => 'right'));
        expect(checks.turns.refused.unsuspected).to.be.below(checks.turns.refused.suspected);
      });
    }
  });
});
