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
export type RedirectChanges = Partial<Record<keyof DomainRedirects, string | null | undefined>>;

interface CodesCase {
  readonly account: string;
  /** Absent: the domain keeps what it has; a new one is case-sensitive. */
  readonly caseInsensitive?: boolean | undefined;
  /** Whether it ever had a link: then `caseInsensitive` cannot change, not even with a new owner. */
  readonly hasCodes: boolean;
}

/** The subject is the domain. */
export type DomainCommand =
  /** `token` is used if the account has no live claim. `count`: domains and live claims of the account. */
  | Command<
      'ClaimDomain',
      { readonly token: string; readonly count: number; readonly limit: number } & CodesCase
    >
  /** `found`: the values of the TXT record. */
  | Command<'VerifyDomain', { readonly found: readonly string[] } & CodesCase>
  | Command<'AddDomain', CodesCase>
  | Command<'ChangeDomain', { readonly account: string } & RedirectChanges>
  /** `links`: links of the domain that are not deleted; operators ignore them. */
  | Command<'ReleaseDomain', { readonly account: string; readonly links: number }>;

export type DomainRefusal =
  | { readonly type: 'notFound' | 'belongsToAnother' | 'hasLinks' | 'caseFixed' }
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

const anyCase = { caseInsensitive: true };

export const domainDecider: Decider<DomainCommand, DomainEvent, Domain, DomainRefusal> = {
  initialState: noDomain,
  evolve: evolveDomain,
  decide(command, domain) {
    const { type, subject, data, metadata } = command;
    const { account } = data;
    const { now } = metadata;
    const attributes = { ...nextEvent(domain, metadata), subject, account };
    const isOwner = domain.owner?.account === account;
    const claim = liveClaim(domain, account, now);
    const fixedCase = ({ hasCodes }: CodesCase): boolean | undefined =>
      isOwner || hasCodes ? domain.caseInsensitive : undefined;
    const changes = (wanted: boolean | undefined, fixed: boolean | undefined): boolean =>
      wanted !== undefined && fixed !== undefined && wanted !== fixed;
    switch (type) {
      case 'ClaimDomain': {
        const { token, count, limit, caseInsensitive } = data;
        const known = isOwner ? domain : claim;
        const fixed = known ? known.caseInsensitive === true : fixedCase(data);
        if (changes(caseInsensitive, fixed)) return refused({ type: 'caseFixed' });
        if (known) return unchanged;
        if (count >= limit) return refused({ type: 'domainsExhausted', limit });
        const claimed = { token, ...((caseInsensitive ?? fixed) && anyCase) };
        return accepted(newEvent('DomainClaimed', claimed, attributes));
      }
      case 'VerifyDomain': {
        const { found } = data;
        if (isOwner) return unchanged;
        if (!claim) return refused({ type: 'notFound' });
        if (domain.owner) return refused({ type: 'belongsToAnother' });
        if (!found.some((value) => textOfRecord(value) === recordValueOf(claim.token))) {
          return refused({ type: 'recordMissing', found });
        }
        const { caseInsensitive = false } = claim;
        if (changes(caseInsensitive, fixedCase(data))) return refused({ type: 'caseFixed' });
        const verified = { by: 'dns' as const, ...(caseInsensitive && anyCase) };
        return accepted(newEvent('DomainVerified', verified, attributes));
      }
      case 'AddDomain': {
        if (domain.owner && !isOwner) return refused({ type: 'belongsToAnother' });
        const fixed = fixedCase(data);
        const wanted = data.caseInsensitive ?? claim?.caseInsensitive;
        if (changes(wanted, fixed)) return refused({ type: 'caseFixed' });
        if (isOwner) return unchanged;
        const added = { by: 'operator' as const, ...((wanted ?? fixed) && anyCase) };
        return accepted(newEvent('DomainVerified', added, attributes));
      }
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
        if (!isOwner && !claim) return refused({ type: 'notFound' });
        if (isOwner && data.links > 0) return refused({ type: 'hasLinks' });
        return accepted(newEvent('DomainReleased', {}, attributes));
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
