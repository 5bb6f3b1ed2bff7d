import { expect } from 'chai';
import fc from 'fast-check';
import { isLinkEvent } from '../events/catalogue.js';
import { evolveLink, initialState, type LinkState } from '../folds/link.js';
import { someEvent, someEventNamed } from '../testing/events.js';
import { rowOfState, linkOfRow } from './redirects.js';

describe('schemas: read model of redirects', () => {
  it('converts every state to a row and back', () => {
    const linkEvents = fc.array(someEvent.filter(isLinkEvent), { maxLength: 4 });
    fc.assert(
      fc.property(
        someEventNamed('LinkCreated'),
        linkEvents,
        fc.integer({ min: 1 }),
        (creation, others, sequence) => {
          const events = [creation, ...others].filter(isLinkEvent);
          const state = events.reduce<LinkState>(evolveLink, initialState);
          const row = rowOfState(state, sequence);
          expect(row?.sequence).to.equal(sequence);
          expect(row && linkOfRow(row)).to.deep.equal(state);
        },
      ),
    );
  });

  it('has no row for a link that does not exist', () => {
    expect(rowOfState(initialState, 1)).to.equal(null);
  });
});
