import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { rejection } from '../../test/support/waiting.js';
import { Hashing } from './password-hasher.js';

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
