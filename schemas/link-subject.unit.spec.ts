import { expect } from 'chai';
import fc from 'fast-check';
import { linkOfSubject, shortUrlOf, subjectOf, subjectRangeOf } from './link-subject.js';

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

  it('is in the range of its domain only', () => {
    const subjects = [
      'a.example/x',
      'a.example/~',
      'a.example',
      'a.example-b.test/x',
      'xa.example/x',
    ];
    const [after, before] = subjectRangeOf('a.example');
    const found = subjects.filter((subject) => subject > after && subject < before);
    expect(found).to.deep.equal(['a.example/x', 'a.example/~']);
  });

  it('has a short URL with the scheme of the default domain', () => {
    expect(shortUrlOf('abc', 'http://localhost:8081')).to.equal('http://localhost:8081/abc');
    expect(shortUrlOf('go.example/abc', 'http://localhost:8081')).to.equal('http://go.example/abc');
    expect(shortUrlOf('go.example/abc', 'https://short.example')).to.equal(
      'https://go.example/abc',
    );
  });
});
