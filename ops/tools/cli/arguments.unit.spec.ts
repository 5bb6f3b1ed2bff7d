import { expect } from 'chai';
import { nearest, oneOf } from './arguments.js';

describe('CLI: choices on the command line', () => {
  const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'] as const;

  it('accepts a choice in any case', () => {
    expect(oneOf('plan', plans)('PRO')).to.equal('PRO');
    expect(oneOf('plan', plans)('hobby')).to.equal('HOBBY');
  });

  it('suggests a choice at an edit distance of 1, including transpositions', () => {
    const names = ['redirects', 'quotas', 'stats'];
    expect(nearest('sttas', names)).to.equal('stats');
    expect(nearest('stat', names)).to.equal('stats');
    expect(nearest('statss', names)).to.equal('stats');
    expect(nearest('Quotes', names)).to.equal('quotas');
    expect(nearest('redirect', names)).to.equal('redirects');
    expect(nearest('links', names)).to.be.null;
  });
});
