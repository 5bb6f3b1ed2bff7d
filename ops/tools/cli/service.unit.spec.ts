import { expect } from 'chai';
import fc from 'fast-check';
import { operatorNameIn } from '../../../schemas/http/operators.js';
import { codePoint } from '../../../schemas/testing/code-point.js';
import { actorArgument, operatorNameOf } from './service.js';

describe('CLI: name of the operator', () => {
  it('is that of the user, without control characters, and with a prefix if it is reserved', () => {
    for (const [user, name] of [
      ['ada', 'ada'],
      ['DOMAIN\\Ada Løvelace ', 'DOMAIN\\Ada Løvelace'],
      ['Zoe\u0308', 'Zo\u00eb'],
      ['a\nb\u0000\ud800', 'ab'],
      ['x'.repeat(80), 'x'.repeat(64)],
      ['😀'.repeat(80), '😀'.repeat(64)],
      ['\u200b ', 'unknown'],
      ['SYSTEM', 'user-SYSTEM'],
      ['web-safety', 'user-web-safety'],
    ] as const) {
      expect(operatorNameOf(user)).to.equal(name);
    }
  });

  it('is valid for every user', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 100 }), (user) => {
        const name = operatorNameOf(user);
        expect(operatorNameIn('actor').parse(name)).to.equal(name);
      }),
      { numRuns: 50 },
    );
  });

  it('is that of the command line, unless it is reserved or invalid', () => {
    expect(actorArgument(' Zoe\u0308 Müller ')).to.equal('Zo\u00eb Müller');
    expect(() => actorArgument('System')).to.throw('--actor must not be system');
    for (const name of ['', ' ', 'a\nb', 'x'.repeat(65)]) {
      expect(() => actorArgument(name), name).to.throw('--actor must have 1 to 64 characters');
    }
  });
});
