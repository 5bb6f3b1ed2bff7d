import { expect } from 'chai';
import fc from 'fast-check';
import { linkState, initialState, type Link, type LinkState } from '../folds/link.js';
import { someTime } from '../testing/events.js';
import { rowOfState, linkOfRow } from './redirects.js';

const timestamp = someTime.map((time) => time.toISOString());
const reason = fc.constantFrom('time' as const, 'clicks' as const);
const link: fc.Arbitrary<Link> = fc.record({
  subject: fc.string(),
  url: fc.string(),
  account: fc.string(),
  createdAt: timestamp,
  startsAt: fc.option(timestamp),
  expiresAt: fc.option(timestamp),
  maxClicks: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  passwordHash: fc.option(fc.string()),
  rules: fc.constantFrom(null, [{ name: 'all', when: {}, url: 'https://example.com/' }]),
  forwardQuery: fc.boolean(),
  custom: fc.boolean(),
  title: fc.option(fc.string()),
  note: fc.option(fc.string()),
  tags: fc.array(fc.string()),
  updatedAt: timestamp,
  liveSince: timestamp,
  original: fc.option(
    fc.record({ url: fc.string(), passwordHash: fc.option(fc.string()) }, { requiredKeys: [] }),
  ),
});
const restraints = fc.record({
  deleted: fc.boolean(),
  blocked: fc.boolean(),
  disabled: fc.boolean(),
  expired: fc.option(reason),
});
const someState: fc.Arbitrary<LinkState> = fc
  .tuple(link, restraints)
  .map((values) => linkState(...values));

describe('schemas: read model of redirects', () => {
  it('converts every state to a row and back', () => {
    fc.assert(
      fc.property(someState, fc.integer({ min: 1 }), (state, sequence) => {
        const row = rowOfState(state, sequence);
        expect(row?.sequence).to.equal(sequence);
        expect(row && linkOfRow(row)).to.deep.equal(state);
      }),
    );
  });

  it('has no row for a link that does not exist', () => {
    expect(rowOfState(initialState, 1)).to.equal(null);
  });
});
