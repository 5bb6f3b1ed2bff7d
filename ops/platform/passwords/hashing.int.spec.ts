import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { Overloaded } from '../concurrency/batcher.js';
import { deferred } from '../concurrency/deferred.js';
import { rejection } from '../../test/support/waiting.js';
import { Hashing, PasswordHasher } from './password-hasher.js';

describe('platform: hashing', () => {
  it('verifies a password in any Unicode normalization, and no other, also after an invalid hash', async () => {
    const hashing = new Hashing();
    expect(await rejection(hashing.verify('no hash', 'a secret'))).to.be.instanceOf(Error);
    const [hash = '', other] = await Promise.all(
      ['pässwörd', 'pässwörd', 'third'].map((word) => hashing.hash(word)),
    );
    expect(hash)
      .to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      .and.not.equal(other);
    expect(await hashing.verify(hash, 'pa\u0308sswo\u0308rd')).to.equal(true);
    expect(await hashing.verify(hash, 'passwörd')).to.equal(false);
  });

  describe('when its threads end', () => {
    const program = new URL('testing/dying-thread.js', import.meta.url);

    it('replaces a thread that fails while it is idle, at the next use', async () => {
      const hashing = new Hashing(program);
      for (const password of ['one', 'two', 'three']) {
        const exit = deferred();
        process.once('worker', (worker) => {
          worker.once('exit', () => {
            exit.resolve();
          });
        });
        expect(await hashing.hash(password)).to.equal(password);
        await exit.promise;
      }
    });

    it('rejects a hash when its thread exits, and replaces the thread', async () => {
      const hashing = new Hashing(program);
      expect(await rejection(hashing.hash('exit')))
        .to.have.property('message')
        .that.includes('ended with code 3');
      expect(await hashing.hash('one')).to.equal('one');
    });
  });

  it('runs below the normal priority on Linux', async function () {
    if (process.platform !== 'linux') return;
    await new Hashing().hash('a secret');
    const threads = readdirSync('/proc/self/task').map(Number);
    const priorities = threads.map((thread) => getPriority(thread));
    expect(Math.max(...priorities)).to.be.at.least(constants.priority.PRIORITY_BELOW_NORMAL);
  });
});

describe('platform: password hasher', () => {
  /** hashSync('before', { memoryCost: 64, timeCost: 1, parallelism: 1 }) */
  const cheapHash =
    '$argon2id$v=19$m=64,t=1,p=1$5YrNNB2CY2tXfEHz+DFmBg$yPg15FX4GhiZksX4nGs/mxRtp65vu3xX2r8LKjSFgpE';
  const network = '198.51.100.7';

  it('checks without hashing if it hashed the password, or if the password was right once', async () => {
    const maker = new PasswordHasher();
    const [hash = ''] = await maker.hashAll('a key', ['pässwörd']);
    const other = new PasswordHasher();
    expect(await other.verify(hash, 'pässwörd', network)).to.equal(true);
    for (const hasher of [maker, other]) {
      const words = ['wrong', 'pa\u0308sswo\u0308rd', ''];
      const checks = words.map((word) => hasher.verify(hash, word, network));
      expect(hasher.load).to.include({ running: 0, waiting: 0 });
      expect(await Promise.all(checks)).to.deep.equal([false, true, false]);
    }
  });

  it('verifies hashes of earlier versions', async () => {
    const withSelectedSalt =
      'sieve=5$argon2id$v=19$m=19456,t=2,p=1$GXbNv1IC6eIpbDmKZ100rg$7OSzS40lY/eTDY6RWhXXPiWu+Dvm2XCWJTgMzRnXm4w';
    const hasher = new PasswordHasher();
    for (const [hash, password] of [
      [cheapHash, 'before'],
      [withSelectedSalt, 'pässwörd'],
    ] as const) {
      expect(await hasher.verify(hash, 'wrong', network)).to.equal(false);
      expect(await hasher.verify(hash, password, network)).to.equal(true);
    }
  });

  it('refuses checks beyond the capacity of the queue, except of known passwords', async () => {
    const hasher = new PasswordHasher();
    const [known = ''] = await hasher.hashAll('a key', ['known']);
    const outcomes = Promise.allSettled(
      Array.from({ length: 70 }, (_, index) =>
        hasher.verify(cheapHash, 'wrong', `2001:db8:0:${index}::/64`),
      ),
    );
    const { waiting, refused } = hasher.load;
    expect([waiting, refused]).to.deep.equal([64, 70 - 64 - hasher.load.running]);
    expect(() => {
      hasher.ensureCapacity(cheapHash, network);
    }).to.throw(Overloaded);
    hasher.ensureCapacity(known, network);
    expect(await hasher.verify(known, 'known', network)).to.equal(true);
    expect((await outcomes).filter(({ status }) => status === 'rejected')).to.have.length(refused);
    hasher.ensureCapacity(cheapHash, network);
    expect(await hasher.verify(cheapHash, 'before', network)).to.equal(true);
  });

  it('refuses checks of a network beyond its share, and serves other networks in turn', async () => {
    const hasher = new PasswordHasher();
    const finished: string[] = [];
    const verify = async (from: string): Promise<void> => {
      await hasher.verify(cheapHash, 'wrong', from);
      finished.push(from);
    };
    const flood = Promise.allSettled(Array.from({ length: 30 }, () => verify('flood')));
    await verify('visitor');
    expect(finished.length).to.be.below(6);
    const refused = (await flood).flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    );
    expect(refused.length).to.be.within(12, 13);
    for (const reason of refused) expect(reason).to.be.instanceOf(Overloaded);
  });
});
