import { expect } from 'chai';
import { newEvent } from '../../schemas/events/codec.js';
import {
  at,
  domainChanged,
  domainClaimed,
  domainReleased,
  domainVerified,
} from '../../schemas/testing/events.js';
import {
  commandMetadata,
  commandSpecification,
  metadataOfEvent,
} from '../../schemas/testing/decider-specification.js';
import { claimLifeMs, domainDecider } from './command.js';

const subject = 'go.example';
const given = commandSpecification(subject, domainDecider);

const metadata = (sequence: number, account = 'acme') => ({
  ...{ ...metadataOfEvent(), sequence, subject, account },
});

const claim = { type: 'ClaimDomain', account: 'acme', token: 't1', count: 0, limit: 1 } as const;
const verify = { type: 'VerifyDomain', account: 'acme', found: ['linklog=t1'] } as const;
const claimed = domainClaimed(subject, 1, 't1', { time: at(1) });
const verified = domainVerified(subject, 2, { time: at(2) });
const redirects = {
  rootRedirect: 'https://acme.example/',
  notFoundRedirect: null,
  expiredRedirect: null,
};

describe('command API: domains', () => {
  it('are claimed once per account, with one token', () => {
    given()
      .when(claim)
      .then(newEvent('DomainClaimed', { token: 't1' }, metadata(1)));
    given(claimed)
      .when({ ...claim, token: 't2' })
      .thenNothing();
    given(claimed, verified)
      .when({ ...claim, token: 't2' })
      .thenNothing();
  });

  it('are claimed by several accounts', () => {
    given(claimed)
      .when({ ...claim, account: 'other', token: 't2' })
      .then(newEvent('DomainClaimed', { token: 't2' }, metadata(2, 'other')));
  });

  it('are claimed up to the limit of the plan', () => {
    given()
      .when({ ...claim, count: 1 })
      .thenRefused('domainsExhausted', { limit: 1 });
  });

  it('are claimed again with a new token after 7 days', () => {
    const now = new Date(at(1).getTime() + claimLifeMs);
    const late = commandSpecification(subject, domainDecider, { ...commandMetadata, now });
    late(claimed)
      .when({ ...claim, token: 't2' })
      .then(newEvent('DomainClaimed', { token: 't2' }, { ...metadata(2), time: now }));
    late(claimed).when(verify).thenRefused('notFound');
  });

  it('belong to the first account that verifies them', () => {
    given(claimed)
      .when(verify)
      .then(newEvent('DomainVerified', { by: 'dns' }, metadata(2)));
    given(claimed, verified).when(verify).thenNothing();
    given(
      claimed,
      domainClaimed(subject, 2, 't2', { account: 'other' }),
      domainVerified(subject, 3),
    )
      .when({ type: 'VerifyDomain', account: 'other', found: ['linklog=t2'] })
      .thenRefused('belongsToAnother');
  });

  it('are verified by a value in quotes or with outer white space, among any number of others', () => {
    const others = Array.from({ length: 25 }, (_, index) => `other=${index}`);
    const [value = ''] = verify.found;
    for (const found of [[`"${value}"`], [` ${value}\t`], [...others, `" ${value} "`]]) {
      given(claimed)
        .when({ ...verify, found })
        .then(newEvent('DomainVerified', { by: 'dns' }, metadata(2)));
    }
  });

  it('are not verified without the TXT record or a claim', () => {
    const found = ['v=spf1 -all', 'linklog=t2'];
    given(claimed)
      .when({ ...verify, found })
      .thenRefused('recordMissing', { found });
    given().when(verify).thenRefused('notFound');
  });

  it('are added by operators without a claim', () => {
    given()
      .when({ type: 'AddDomain', account: 'acme' })
      .then(newEvent('DomainVerified', { by: 'operator' }, metadata(1)));
    given(claimed, verified)
      .when({ type: 'AddDomain', account: 'other' })
      .thenRefused('belongsToAnother');
  });

  it('are changed by their owner, with an event only for a change', () => {
    const change = {
      type: 'ChangeDomain',
      account: 'acme',
      rootRedirect: redirects.rootRedirect,
    } as const;
    given(claimed, verified)
      .when(change)
      .then(newEvent('DomainChanged', redirects, metadata(3)));
    given(claimed, verified, domainChanged(subject, 3, redirects))
      .when(change)
      .thenNothing();
    given(claimed, verified)
      .when({ ...change, account: 'other' })
      .thenRefused('notFound');
    given(claimed).when(change).thenRefused('notFound');
  });

  it('are released without links, and verified again by the same account', () => {
    const release = { type: 'ReleaseDomain', account: 'acme', links: 0 } as const;
    given(claimed, verified)
      .when(release)
      .then(newEvent('DomainReleased', {}, metadata(3)));
    given(claimed, verified)
      .when({ ...release, links: 1 })
      .thenRefused('hasLinks');
    given(claimed)
      .when(release)
      .then(newEvent('DomainReleased', {}, metadata(2)));
    given().when(release).thenRefused('notFound');
    const released = [claimed, verified, domainReleased(subject, 3)];
    given(...released)
      .when({ ...claim, token: 't3' })
      .then(newEvent('DomainClaimed', { token: 't3' }, metadata(4)));
    expect(released.reduce(domainDecider.evolve, domainDecider.initialState)).to.include({
      owner: null,
    });
  });
});
