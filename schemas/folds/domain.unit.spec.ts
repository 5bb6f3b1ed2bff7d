import { expect } from 'chai';
import fc from 'fast-check';
import { isDomainEvent } from '../events/catalogue.js';
import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  domainChanged,
  domainClaimed,
  domainReleased,
  domainVerified,
  noon,
  someEventNamed,
} from '../testing/events.js';
import { evolveDomain, noDomain, type DomainOwner } from './domain.js';

const given = foldSpecification({ initialState: noDomain, evolve: evolveDomain });

const name = 'go.example';
const redirects = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };
const others = { account: 'other' };

const owner: DomainOwner = {
  ...redirects,
  account: 'acme',
  createdAt: noon.toISOString(),
  verifiedAt: at(1).toISOString(),
  token: 'a',
};

const claimed = domainClaimed(name, 1, 'a');
const verified = domainVerified(name, 2, { time: at(1) });

describe('schemas: state of a domain', () => {
  it('has no owner and no claims at first', () => {
    given().then({
      ...{ owner: null, claims: {}, caseInsensitive: false },
      ...{ sequence: 0, lastEventAt: new Date(0) },
    });
  });

  const otherClaim = domainClaimed(name, 2, 'b', { ...others, time: at(1) });

  it('has the last claim of each account', () => {
    const [claimedAt, later] = [noon.toISOString(), at(2).toISOString()];
    given(claimed, otherClaim)
      .when(domainClaimed(name, 3, 'c', { ...others, time: at(2) }))
      .thenChanges({
        claims: { acme: { token: 'a', claimedAt }, other: { token: 'c', claimedAt: later } },
      });
  });

  it('belongs to the account that verifies its claim; other claims stay', () => {
    given(claimed).when(verified).thenChanges({ owner, claims: {} });
    given(claimed, otherClaim)
      .when(domainVerified(name, 3, { time: at(2) }))
      .thenChanges({
        owner: { ...owner, verifiedAt: at(2).toISOString() },
        claims: { other: { token: 'b', claimedAt: at(1).toISOString() } },
      });
  });

  it('belongs to an account without a claim if an operator adds it', () => {
    given()
      .when(domainVerified(name, 1, { time: at(1) }))
      .thenChanges({ owner: { ...owner, createdAt: at(1).toISOString(), token: null } });
  });

  it('has the redirects of its last change', () => {
    const change = { ...redirects, rootRedirect: 'https://example.com/' };
    const changed = domainChanged(name, 3, change, { time: at(2) });
    given(claimed, verified)
      .when(changed)
      .thenChanges({ owner: { ...owner, ...change } });
    given().when(changed).thenChanges({ owner: null });
  });

  it('has no owner and no redirects after its release, and may be verified again', () => {
    const release = domainReleased(name, 4, { time: at(2) });
    const changed = domainChanged(name, 3, { ...redirects, rootRedirect: 'x' });
    given(claimed, verified, changed).when(release).thenChanges({ owner: null });
    const again = { verifiedAt: at(3).toISOString(), createdAt: at(3).toISOString(), token: null };
    given(claimed, verified, changed, release)
      .when(domainVerified(name, 5, { ...others, time: at(3) }))
      .thenChanges({ owner: { ...owner, ...again, account: 'other' } });
  });

  it('ignores the case of codes if its last verification says so', () => {
    const insensitive = { caseInsensitive: true };
    const claim = domainClaimed(name, 1, 'a', {}, insensitive);
    given()
      .when(claim)
      .thenChanges({
        claims: { acme: { token: 'a', claimedAt: noon.toISOString(), ...insensitive } },
      });
    const event = domainVerified(name, 2, { time: at(1) });
    const anyCase = { ...event, data: { ...event.data, ...insensitive } } as const;
    given(claim)
      .when(anyCase)
      .thenChanges({ owner, claims: {}, ...insensitive });
    given(claim, anyCase).when(domainReleased(name, 3)).thenChanges({ owner: null });
    const [verifiedAt, token] = [at(3).toISOString(), null];
    given(claim, anyCase, domainReleased(name, 3))
      .when(domainVerified(name, 4, { time: at(3) }))
      .thenChanges({
        owner: { ...owner, createdAt: verifiedAt, verifiedAt, token },
        caseInsensitive: false,
      });
  });

  it('keeps its owner if another account releases its claim', () => {
    given(claimed, otherClaim, domainVerified(name, 3, { time: at(1) }))
      .when(domainReleased(name, 4, { ...others, time: at(2) }))
      .thenChanges({ claims: {} });
  });

  it('folds events in any order, and has the sequence and the time of the last one', () => {
    const accounts = ['acme', 'other', '__proto__', 'constructor'];
    const names = ['DomainClaimed', 'DomainVerified', 'DomainChanged', 'DomainReleased'] as const;
    const someDomainEvent = fc.oneof(...names.map(someEventNamed)).filter(isDomainEvent);
    const histories = fc.array(fc.tuple(someDomainEvent, fc.constantFrom(...accounts)), {
      minLength: 1,
    });
    fc.assert(
      fc.property(histories, (history) => {
        const events = history.map(([event, account]) => ({ ...event, account }));
        const state = events.reduce(evolveDomain, noDomain);
        const last = events.at(-1);
        expect(state.sequence).to.equal(last?.sequence);
        expect(state.lastEventAt.toISOString()).to.equal(last?.time);
        // The row of the ledger is the same state.
        expect(JSON.parse(JSON.stringify(state.claims))).to.deep.equal(state.claims);
      }),
      { numRuns: 50 },
    );
  });
});
