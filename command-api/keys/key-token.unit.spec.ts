import { expect } from 'chai';
import fc from 'fast-check';
import { hashKeyToken, isKeyToken, keyAlphabet, keyToken } from './key-token.js';

const character = fc.constantFrom(...Array.from(keyAlphabet));
const secret = fc.string({ unit: character, minLength: 32, maxLength: 32 });

describe('command API: key', () => {
  it('is ll_, 32 characters, and 6 of checksum', () => {
    fc.assert(
      fc.property(secret, (text) => {
        const token = keyToken(text);
        expect(token).to.match(/^ll_[0-9A-Za-z]{38}$/);
        expect(token.slice(3, 35)).to.equal(text);
        expect(isKeyToken(token)).to.be.true;
      }),
    );
  });

  it('has a fixed checksum and hash, because keys are in use', () => {
    expect(keyToken('0'.repeat(32))).to.equal(`ll_${'0'.repeat(32)}2wjyrI`);
    expect(hashKeyToken('abc')).to.equal(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('detects one wrong character', () => {
    fc.assert(
      fc.property(secret, fc.nat(37), character, (text, at, other) => {
        const token = keyToken(text);
        const index = 3 + at;
        fc.pre(token[index] !== other);
        expect(isKeyToken(token.slice(0, index) + other + token.slice(index + 1))).to.be.false;
      }),
    );
  });

  it('is no other text', () => {
    const valid = keyToken('a'.repeat(32));
    for (const text of [
      ...['', 'll_', valid.slice(1), valid.slice(0, -1), `${valid}0`, ` ${valid}`, `${valid}\n`],
      ...[valid.toUpperCase(), `xx_${valid.slice(3)}`, 'll_' + 'ü'.repeat(38)],
    ]) {
      expect(isKeyToken(text), text).to.be.false;
    }
  });
});
