import { expect } from 'chai';
import fc from 'fast-check';
import { linkOfSubject, subjectOf } from './link-subject.js';

describe('schemas: subject of a link', () => {
  it('is the code on the default domain, and domain/code elsewhere', () => {
    expect(subjectOf({ domain: null, code: 'spring' })).to.equal('spring');
    expect(subjectOf({ domain: 'go.example', code: 'spring' })).to.equal('go.example/spring');
  });

  it('is split into the link that it was composed of', () => {
    const part = fc.string({ minLength: 1 }).filter((text) => !text.includes('/'));
    fc.assert(
      fc.property(fc.option(part), part, (domain, code) => {
        expect(linkOfSubject(subjectOf({ domain, code }))).to.deep.equal({ domain, code });
      }),
    );
  });
});
