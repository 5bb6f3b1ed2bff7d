import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { DomainEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import {
  evolveDomain,
  noDomain,
  type Domain,
  type DomainRedirects,
} from '../../schemas/folds/domain.js';

/** How long a claim waits for its verification (ms). */
export const claimLifeMs = 7 * 24 * 3_600_000;

/** An absent redirect stays. */
export type RedirectChanges = {
  readonly [Name in keyof DomainRedirects]?: DomainRedirects[Name] | undefined;
};

/** The subject is the domain. */
export type DomainCommand =
  /** `token` is used if the account has no live claim. `count`: domains and live claims of the account. */
  | Command<
      'ClaimDomain',
      {
        readonly account: string;
        readonly token: string;
        readonly count: number;
        readonly limit: number;
      }
    >
  /** `found`: the values of the TXT record. */
  | Command<'VerifyDomain', { readonly account: string; readonly found: readonly string[] }>
  | Command<'AddDomain', { readonly account: string }>
  | Command<'ChangeDomain', { readonly account: string } & RedirectChanges>
  /** `links`: links of the domain that are not deleted; operators ignore them. */
  | Command<'ReleaseDomain', { readonly account: string; readonly links: number }>;

export type DomainRefusal =
  | { readonly type: 'notFound' | 'belongsToAnother' | 'hasLinks' }
  | { readonly type: 'domainsExhausted'; readonly limit: number }
  | { readonly type: 'recordMissing'; readonly found: readonly string[] };

/** The value of the TXT record that verifies a claim. */
export const recordValueOf = (token: string): string => `linklog=${token}`;

/** The value without outer white space and quotes, which forms of DNS providers add to the record. */
const textOfRecord = (value: string): string =>
  value
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim();

/** The claim of an account, unless it has expired. */
export const liveClaim = ({ claims }: Domain, account: string, now: Date) => {
  const claim = claims[account];
  return claim && now.getTime() < Date.parse(claim.claimedAt) + claimLifeMs ? claim : null;
};

export const domainDecider: Decider<DomainCommand, DomainEvent, Domain, DomainRefusal> = {
  initialState: noDomain,
  evolve: evolveDomain,
  decide(command, domain) {
    const { type, subject, data, metadata } = command;
    const { account } = data;
    const { now } = metadata;
    const attributes = { ...nextEvent(domain, metadata), subject, account };
    const isOwner = domain.owner?.account === account;
    switch (type) {
      case 'ClaimDomain': {
        const { token, count, limit } = data;
        if (isOwner || liveClaim(domain, account, now)) return unchanged;
        if (count >= limit) return refused({ type: 'domainsExhausted', limit });
        return accepted(newEvent('DomainClaimed', { token }, attributes));
      }
      case 'VerifyDomain': {
        const { found } = data;
        if (isOwner) return unchanged;
        const claim = liveClaim(domain, account, now);
        if (!claim) return refused({ type: 'notFound' });
        if (domain.owner) return refused({ type: 'belongsToAnother' });
        if (!found.some((value) => textOfRecord(value) === recordValueOf(claim.token))) {
          return refused({ type: 'recordMissing', found });
        }
        return accepted(newEvent('DomainVerified', { by: 'dns' }, attributes));
      }
      case 'AddDomain':
        if (isOwner) return unchanged;
        if (domain.owner) return refused({ type: 'belongsToAnother' });
        return accepted(newEvent('DomainVerified', { by: 'operator' }, attributes));
      case 'ChangeDomain': {
        const { owner } = domain;
        if (!owner || !isOwner) return refused({ type: 'notFound' });
        const {
          rootRedirect = owner.rootRedirect,
          notFoundRedirect = owner.notFoundRedirect,
          expiredRedirect = owner.expiredRedirect,
        } = data;
        const changed = { rootRedirect, notFoundRedirect, expiredRedirect };
        const fields = Object.keys(changed) as (keyof DomainRedirects)[];
        if (fields.every((field) => changed[field] === owner[field])) return unchanged;
        return accepted(newEvent('DomainChanged', changed, attributes));
      }
      case 'ReleaseDomain':
        if (!isOwner && !liveClaim(domain, account, now)) return refused({ type: 'notFound' });
        if (isOwner && data.links > 0) return refused({ type: 'hasLinks' });
        return accepted(newEvent('DomainReleased', {}, attributes));
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
