import { expect } from 'chai';
import { chooseLanguage } from './locale.js';

describe('language of the console', () => {
  it('is the first of the browser that has a catalogue', () => {
    expect(chooseLanguage(['de-AT', 'en'])).to.equal('de');
    expect(chooseLanguage(['en-GB', 'de'])).to.equal('en');
    expect(chooseLanguage(['fr', 'de'])).to.equal('de');
  });

  it('is English without one', () => {
    expect(chooseLanguage(['fr-CA', 'ja'])).to.equal('en');
    expect(chooseLanguage([])).to.equal('en');
    expect(chooseLanguage(['constructor'])).to.equal('en');
  });
});
