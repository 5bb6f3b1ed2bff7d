import { expect } from 'chai';
import { changedOptions } from './option-form.js';

describe('the options of a link in a form', () => {
  it('are those that are filled in, for a new link', () => {
    expect(changedOptions({})).to.deep.equal({});
    const fields = {
      ...{ redirectStatus: '307', forwardQuery: 'on', forwardPath: 'on' },
      ...{ expiredUrl: 'example.com/over', cardTitle: 'Sale', cardImage: 'example.com/a.png' },
    };
    expect(changedOptions(fields)).to.deep.equal({
      ...{ redirectStatus: 307, forwardQuery: true, forwardPath: true },
      expiredUrl: 'https://example.com/over',
      card: { title: 'Sale', image: 'https://example.com/a.png' },
    });
  });

  it('are only those that differ from the link; empty ones are removed', () => {
    const link = {
      ...({ redirectStatus: 307, forwardQuery: true, forwardPath: true } as const),
      // In another order than that of the form.
      card: { image: 'https://example.com/a', description: 'd', title: 't' },
    };
    const fields = {
      ...{ redirectStatus: '307', forwardQuery: 'on', forwardPath: 'on' },
      ...{ cardTitle: 't', cardDescription: 'd', cardImage: 'https://example.com/a' },
    };
    expect(changedOptions(fields, link)).to.deep.equal({});
    expect(changedOptions({}, link)).to.deep.equal({
      ...{ redirectStatus: null, forwardQuery: false, forwardPath: null, card: null },
    });
    expect(changedOptions({ ...fields, cardTitle: 'u' }, link)).to.deep.equal({
      card: { title: 'u', description: 'd', image: 'https://example.com/a' },
    });
  });
});
