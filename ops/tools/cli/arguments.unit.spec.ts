import { expect } from 'chai';
import { nearest, oneOf } from './arguments.js';
import { CliError } from './errors.js';

describe('CLI: choices on the command line', () => {
  const plans = ['FREE', 'HOBBY', 'INDIE', 'PRO'] as const;

  const refusal = (word: string): CliError => {
    try {
      oneOf('plan', plans)(word);
    } catch (error) {
      if (error instanceof CliError) return error;
    }
    throw new Error(`${word} was accepted`);
  };

  it('takes a choice in any case', () => {
    expect(oneOf('plan', plans)('PRO')).to.equal('PRO');
    expect(oneOf('plan', plans)('hobby')).to.equal('HOBBY');
  });

  it('lists the choices after a typo, and guesses at one that is near', () => {
    const error = refusal('PORO');
    expect(error.message).to.equal(
      'there is no plan "PORO": it is one of FREE, HOBBY, INDIE, PRO (did you mean PRO?)',
    );
    expect([error.code, error.exitCode]).to.deep.equal(['USAGE', 2]);
    expect(refusal('gold').message).to.equal(
      'there is no plan "gold": it is one of FREE, HOBBY, INDIE, PRO',
    );
    expect(refusal('').message).to.equal(
      'there is no plan "": it is one of FREE, HOBBY, INDIE, PRO',
    );
  });

  it('finds what is one slip away: a letter more, less, another, or two exchanged', () => {
    const names = ['redirects', 'quotas', 'stats'];
    expect(nearest('sttas', names)).to.equal('stats');
    expect(nearest('stat', names)).to.equal('stats');
    expect(nearest('statss', names)).to.equal('stats');
    expect(nearest('Quotes', names)).to.equal('quotas');
    expect(nearest('redirect', names)).to.equal('redirects');
    expect(nearest('links', names)).to.be.null;
  });
});
