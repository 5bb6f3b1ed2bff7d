import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { deferred } from '../concurrency/deferred.js';
import { rejection } from '../../test/support/waiting.js';
import { Hashing, PasswordHasher } from './password-hasher.js';

describe('platform: hashing', () => {
  it('verifies a password, however it was typed, and no other', async () => {
    const hashing = new Hashing();
    const hash = await hashing.hash('pässwörd');
    expect(hash).to.match(/^sieve=5\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await hashing.verify(hash, 'pa\u0308sswo\u0308rd')).to.equal(true);
    expect(await hashing.verify(hash, 'passwörd')).to.equal(false);
    expect(await hashing.hash('pässwörd')).to.not.equal(hash);
  });

  it('continues after an invalid hash', async () => {
    const hashing = new Hashing();
    expect(await rejection(hashing.verify('no hash', 'a secret'))).to.be.instanceOf(Error);
    const hashes = await Promise.all(['one', 'two', 'three'].map((word) => hashing.hash(word)));
    expect(await hashing.verify(hashes[1] ?? '', 'two')).to.equal(true);
  });

  describe('when its threads end', () => {
    const program = new URL('testing/dying-thread.js', import.meta.url);

    it('replaces one that fails while it is idle, at the next use', async () => {
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

    it('rejects a hash during which one exits, and replaces it', async () => {
      const hashing = new Hashing(program);
      expect(await rejection(hashing.hash('exit')))
        .to.have.property('message')
        .that.includes('ended with code 3');
      expect(await hashing.hash('one')).to.equal('one');
    });
  });

  it('gives the event loop priority, where threads have priorities of their own', async function () {
    if (process.platform !== 'linux') return;
    await new Hashing().hash('a secret');
    const threads = readdirSync('/proc/self/task').map(Number);
    const priorities = threads.map((thread) => getPriority(thread));
    expect(Math.max(...priorities)).to.be.above(getPriority(process.pid));
  });
});

describe('platform: password hasher', () => {
  const isQuick = (hasher: PasswordHasher, hash: string, ...words: readonly string[]): boolean =>
    words.every((word) => !hasher.needsHash(hash, word));

  it('checks without a hash where it has hashed the password, or saw it entered', async () => {
    const made = new PasswordHasher();
    const [hash = ''] = await made.hashAll('a key', ['pässwörd']);
    const other = new PasswordHasher();
    expect(other.needsHash(hash, 'pässwörd')).to.equal(true);
    expect(await other.verify(hash, 'pässwörd')).to.equal(true);
    for (const hasher of [made, other]) {
      expect(isQuick(hasher, hash, 'pässwörd', 'wrong', '')).to.equal(true);
      const checks = ['wrong', 'pa\u0308sswo\u0308rd', ''].map((word) => hasher.verify(hash, word));
      expect(hasher.load.running).to.equal(0);
      expect(await Promise.all(checks)).to.deep.equal([false, true, false]);
    }
  });

  it('turns down most wrong passwords without a hash, each other one after a single hash', async () => {
    const [hash = ''] = await new PasswordHasher().hashAll('a key', ['pässwörd']);
    const hasher = new PasswordHasher();
    const wrong = Array.from({ length: 3_200 }, (_, number) => `wrong ${number}`);
    const slow = wrong.filter((word) => hasher.needsHash(hash, word));
    // 100 are expected, and six standard deviations allowed.
    expect(slow).to.have.length.within(40, 160);
    const [first = ''] = slow;
    expect(await hasher.verify(hash, first)).to.equal(false);
    expect(hasher.needsHash(hash, first)).to.equal(false);
    expect(await hasher.verify(hash, first)).to.equal(false);
    expect(await hasher.verify(hash, 'pa\u0308sswo\u0308rd')).to.equal(true);
  });

  it('checks hashes of the releases before', async () => {
    // hashSync('before', { memoryCost: 64, timeCost: 1, parallelism: 1 })
    const hash =
      '$argon2id$v=19$m=64,t=1,p=1$5YrNNB2CY2tXfEHz+DFmBg$yPg15FX4GhiZksX4nGs/mxRtp65vu3xX2r8LKjSFgpE';
    const hasher = new PasswordHasher();
    expect(hasher.needsHash(hash, 'wrong')).to.equal(true);
    expect(await hasher.verify(hash, 'wrong')).to.equal(false);
    expect(await hasher.verify(hash, 'before')).to.equal(true);
  });

  it('lets new passwords of a key and checks take turns', async () => {
    const hasher = new PasswordHasher();
    const [hash = ''] = await new PasswordHasher().hashAll('a key', ['right']);
    let checking = true;
    let guesses = 0;
    const check = async (): Promise<void> => {
      while (checking) await hasher.verify(hash, `wrong ${(guesses += 1)}`);
    };
    const flood = Promise.all(Array.from({ length: 4 }, check));
    expect(await hasher.hashAll('a key', ['one', 'two', 'three'])).to.have.length(3);
    checking = false;
    await flood;
  });
});
