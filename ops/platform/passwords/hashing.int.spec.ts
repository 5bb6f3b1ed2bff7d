import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { rejection } from '../../test/support/waiting.js';
import { Hashing, PasswordHasher } from './password-hasher.js';

describe('platform: hashing', () => {
  it('verifies a password, however it was typed, and no other', async () => {
    const hashing = new Hashing();
    const hash = await hashing.hash('pässwörd');
    expect(hash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
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

  it('gives the event loop priority, where threads have priorities of their own', async function () {
    if (process.platform !== 'linux') return;
    await new Hashing().hash('a secret');
    const threads = readdirSync('/proc/self/task').map(Number);
    const priorities = threads.map((thread) => getPriority(thread));
    expect(Math.max(...priorities)).to.be.above(getPriority(process.pid));
  });
});

describe('platform: password hasher', () => {
  it('knows a password that it hashed, or that was right once, and checks it without a hash', async () => {
    const made = new PasswordHasher();
    const [hash = ''] = await made.hashAll('a key', ['pässwörd']);
    expect(made.knows(hash)).to.equal(true);
    const other = new PasswordHasher();
    expect(await other.verify(hash, 'wrong')).to.equal(false);
    expect(other.knows(hash)).to.equal(false);
    expect(await other.verify(hash, 'pässwörd')).to.equal(true);
    expect(other.knows(hash)).to.equal(true);
    for (const hasher of [made, other]) {
      const checks = ['wrong', 'pa\u0308sswo\u0308rd', ''].map((word) => hasher.verify(hash, word));
      expect(hasher.load.running).to.equal(0);
      expect(await Promise.all(checks)).to.deep.equal([false, true, false]);
    }
  });

  it('lets new passwords of a key and checks take turns', async () => {
    const hasher = new PasswordHasher();
    const [hash = ''] = await new PasswordHasher().hashAll('a key', ['right']);
    let checking = true;
    const check = async (): Promise<void> => {
      while (checking) await hasher.verify(hash, 'wrong');
    };
    const flood = Promise.all(Array.from({ length: 4 }, check));
    expect(await hasher.hashAll('a key', ['one', 'two', 'three'])).to.have.length(3);
    checking = false;
    await flood;
  });
});
