import type { DomainEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import { foldCode, linkOfSubject } from '../link-subject.js';

/** An account's claim of a domain that it has not verified. */
export interface DomainClaim {
  readonly token: string;
  readonly caseInsensitive?: boolean;
  readonly claimedAt: string;
}

export const noRedirects = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };

/** Where browsers are redirected instead of a page; `null`: they get the page. */
export type DomainRedirects = Readonly<Record<keyof typeof noRedirects, string | null>>;

export interface DomainOwner extends DomainRedirects {
  readonly account: string;
  readonly createdAt: string;
  readonly verifiedAt: string;
  /** The token of its claim; `null` for a domain that an operator added. */
  readonly token: string | null;
}

export interface Domain {
  readonly owner: DomainOwner | null;
  /** The claims of other accounts, by account. Expired claims are included. */
  readonly claims: Readonly<Record<string, DomainClaim>>;
  /** Whether letters of either case are the same in its codes, or those of the last owner. */
  readonly caseInsensitive: boolean;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export const noDomain: Domain = {
  owner: null,
  claims: {},
  caseInsensitive: false,
  sequence: 0,
  lastEventAt: new Date(0),
};

/** Whether an account may create a link: its domain may have changed since the subject was composed. */
export const mayCreate = (
  domains: ReadonlyMap<string, { readonly account: string; readonly caseInsensitive: boolean }>,
  account: string,
  subject: string,
): boolean => {
  const { domain, code } = linkOfSubject(subject);
  if (domain === null) return true;
  const locked = domains.get(domain);
  return locked?.account === account && (!locked.caseInsensitive || foldCode(code) === code);
};

export const evolveDomain = (domain: Domain, event: DomainEvent): Domain => {
  const { account = '', time } = event;
  const next = { ...domain, sequence: event.sequence, lastEventAt: new Date(time) };
  const { [account]: claim, ...claims } = domain.claims;
  switch (event.type) {
    case 'linklog.DomainClaimed.v2':
      return { ...next, claims: { ...claims, [account]: { ...event.data, claimedAt: time } } };
    case 'linklog.DomainVerified.v2': {
      const createdAt = claim?.claimedAt ?? time;
      const token = claim?.token ?? null;
      const owner = { ...noRedirects, account, createdAt, verifiedAt: time, token };
      const { caseInsensitive = false } = event.data;
      return { ...next, claims, owner, caseInsensitive };
    }
    case 'linklog.DomainChanged.v1':
      return { ...next, owner: domain.owner && { ...domain.owner, ...event.data } };
    case 'linklog.DomainReleased.v1':
      return domain.owner?.account === account ? { ...next, owner: null } : { ...next, claims };
    default:
      return unknownEvent(event, 'domain');
  }
};
