import { expect } from 'chai';
import fc from 'fast-check';
import { noLink, type Link, type LinkState } from '../folds/link.js';
import { someTime } from '../testing/events.js';
import { rowOfState, linkOfRow } from './redirects.js';

const timestamp = someTime.map((time) => time.toISOString());
const reason = fc.constantFrom('time' as const, 'clicks' as const);
const link: fc.Arbitrary<Link> = fc.record({
  code: fc.string(),
  url: fc.string(),
  account: fc.string(),
  createdAt: timestamp,
  expiresAt: fc.option(timestamp),
  maxClicks: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  passwordHash: fc.option(fc.string()),
});
const someState: fc.Arbitrary<LinkState> = fc.oneof(
  fc.record({ status: fc.constant('active' as const), link }),
  fc.record({ status: fc.constant('expired' as const), link, reason }),
  fc.record({ status: fc.constant('blocked' as const), link, expired: fc.option(reason) }),
);

describe('schemas: read model of redirects', () => {
  it('gives back every state that it was given', () => {
    fc.assert(
      fc.property(someState, fc.integer({ min: 1 }), (state, sequence) => {
        const row = rowOfState(state, sequence);
        expect(row?.sequence).to.equal(sequence);
        expect(row && linkOfRow(row)).to.deep.equal(state);
      }),
    );
  });

  it('has no row for a link that was never made', () => {
    expect(rowOfState(noLink, 1)).to.equal(null);
  });
});
