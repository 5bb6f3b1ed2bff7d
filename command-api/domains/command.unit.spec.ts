import { expect } from 'chai';
import { newEvent } from '../../schemas/events/codec.js';
import {
  at,
  domainChanged,
  domainClaimed,
  domainReleased,
  domainVerified,
} from '../../schemas/testing/events.js';
import { commandMetadata, metadataOfEvent, specify } from '../testing/decisions.js';
import { claimLifeMs, domainDecider } from './command.js';

const subject = 'go.example';
const { accepts, ignores, refuses } = specify(subject, domainDecider);

const metadata = (sequence: number, account = 'acme') => ({
  ...{ ...metadataOfEvent(), sequence, subject, account },
});
const claimedBy = (account: string, token: string, sequence: number) =>
  newEvent('DomainClaimed', { token }, metadata(sequence, account));
const verifiedBy = (by: 'dns' | 'operator', sequence: number) =>
  newEvent('DomainVerified', { by }, metadata(sequence));

const unused = { account: 'acme', hasCodes: false } as const;
const claim = { type: 'ClaimDomain', ...unused, token: 't1', count: 0, limit: 1 } as const;
const verify = { type: 'VerifyDomain', ...unused, found: ['linklog=t1'] } as const;
const add = { type: 'AddDomain', ...unused } as const;
const release = { type: 'ReleaseDomain', account: 'acme', links: 0 } as const;
const rootRedirect = 'https://acme.example/';
const change = { type: 'ChangeDomain', account: 'acme', rootRedirect } as const;
const redirects = { rootRedirect, notFoundRedirect: null, expiredRedirect: null };
const claimed = [domainClaimed(subject, 1, 't1', { time: at(1) })];
const verified = [...claimed, domainVerified(subject, 2, { time: at(2) })];

describe('command API: domains', () => {
  it('are claimed once per account, with one token', () => {
    accepts([], claim, claimedBy('acme', 't1', 1));
    for (const history of [claimed, verified]) ignores(history, { ...claim, token: 't2' });
  });

  it('are claimed by several accounts', () => {
    accepts(claimed, { ...claim, account: 'other', token: 't2' }, claimedBy('other', 't2', 2));
  });

  it('are claimed up to the limit of the plan', () => {
    refuses([], { ...claim, count: 1 }, 'domainsExhausted', { limit: 1 });
  });

  it('are claimed again with a new token after 7 days', () => {
    const now = new Date(at(1).getTime() + claimLifeMs);
    const late = specify(subject, domainDecider, { ...commandMetadata, now });
    const event = newEvent('DomainClaimed', { token: 't2' }, { ...metadata(2), time: now });
    late.accepts(claimed, { ...claim, token: 't2' }, event);
    late.refuses(claimed, verify, 'notFound');
  });

  it('belong to the first account that verifies them', () => {
    accepts(claimed, verify, verifiedBy('dns', 2));
    ignores(verified, verify);
    const byOther = domainClaimed(subject, 2, 't2', { account: 'other' });
    const history = [...claimed, byOther, domainVerified(subject, 3)];
    const late = { ...verify, account: 'other', found: ['linklog=t2'] } as const;
    refuses(history, late, 'belongsToAnother');
  });

  it('are verified by a value in quotes or with outer white space, among any number of others', () => {
    const others = Array.from({ length: 25 }, (_, index) => `other=${index}`);
    const [value] = verify.found;
    for (const found of [[`"${value}"`], [` ${value}\t`], [...others, `" ${value} "`]]) {
      accepts(claimed, { ...verify, found }, verifiedBy('dns', 2));
    }
  });

  it('are not verified without the TXT record or a claim', () => {
    const found = ['v=spf1 -all', 'linklog=t2'];
    refuses(claimed, { ...verify, found }, 'recordMissing', { found });
    refuses([], verify, 'notFound');
  });

  it('are added by operators without a claim', () => {
    accepts([], add, verifiedBy('operator', 1));
    refuses(verified, { ...add, account: 'other' }, 'belongsToAnother');
  });

  it('are changed by their owner, with an event only for a change', () => {
    accepts(verified, change, newEvent('DomainChanged', redirects, metadata(3)));
    ignores([...verified, domainChanged(subject, 3, redirects)], change);
    refuses(verified, { ...change, account: 'other' }, 'notFound');
    refuses(claimed, change, 'notFound');
  });

  describe('whose codes are case-insensitive', () => {
    const insensitive = { caseInsensitive: true } as const;
    const anyCase = domainClaimed(subject, 1, 't1', { time: at(1) }, insensitive);
    const event = (name: 'DomainClaimed' | 'DomainVerified', data: object, sequence: number) =>
      newEvent(name, { ...data, ...insensitive } as never, metadata(sequence));
    const owned = [anyCase, event('DomainVerified', { by: 'dns' }, 2)];
    const released = [...owned, domainReleased(subject, 3)];

    it('are claimed, verified and added so', () => {
      accepts([], { ...claim, ...insensitive }, event('DomainClaimed', { token: 't1' }, 1));
      accepts([anyCase], verify, event('DomainVerified', { by: 'dns' }, 2));
      accepts([], { ...add, ...insensitive }, event('DomainVerified', { by: 'operator' }, 1));
      // An operator completes a claim.
      accepts([anyCase], add, event('DomainVerified', { by: 'operator' }, 2));
      accepts([anyCase], { ...add, caseInsensitive: false }, verifiedBy('operator', 2));
    });

    it('keep that for a repeated call without it or with the same value, and refuse the other one', () => {
      for (const history of [[anyCase], owned]) {
        ignores(history, claim);
        ignores(history, { ...claim, ...insensitive });
        refuses(history, { ...claim, caseInsensitive: false }, 'caseFixed');
      }
      for (const history of [claimed, verified]) {
        ignores(history, { ...claim, caseInsensitive: false });
        refuses(history, { ...claim, ...insensitive }, 'caseFixed');
      }
      ignores(owned, add);
      refuses(owned, { ...add, caseInsensitive: false }, 'caseFixed');
      refuses(verified, { ...add, ...insensitive }, 'caseFixed');
    });

    it('change only for a new owner, and only if the domain never had a link', () => {
      accepts(released, claim, claimedBy('acme', 't1', 4));
      accepts(released, { ...add, caseInsensitive: false }, verifiedBy('operator', 4));
      const hasCodes = true;
      accepts(released, { ...claim, hasCodes }, event('DomainClaimed', { token: 't1' }, 4));
      accepts(released, { ...add, hasCodes }, event('DomainVerified', { by: 'operator' }, 4));
      for (const command of [claim, add]) {
        refuses(released, { ...command, caseInsensitive: false, hasCodes }, 'caseFixed');
      }
      // Another account has claimed it before, and its links came later.
      const late = [...released, domainClaimed(subject, 4, 't1', { time: at(1) })];
      refuses(late, { ...verify, hasCodes }, 'caseFixed');
      accepts(late, verify, verifiedBy('dns', 5));
    });
  });

  it('are released without links, and claimed again by the same account', () => {
    accepts(verified, release, newEvent('DomainReleased', {}, metadata(3)));
    refuses(verified, { ...release, links: 1 }, 'hasLinks');
    accepts(claimed, release, newEvent('DomainReleased', {}, metadata(2)));
    refuses([], release, 'notFound');
    const released = [...verified, domainReleased(subject, 3)];
    accepts(released, { ...claim, token: 't3' }, claimedBy('acme', 't3', 4));
    const state = released.reduce(domainDecider.evolve, domainDecider.initialState);
    expect(state).to.include({ owner: null });
  });
});
