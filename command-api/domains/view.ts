import { recordValueOf, liveClaim } from './command.js';
import { noRedirects, type Domain } from '../../schemas/folds/domain.js';
import type { DomainResponse } from '../../schemas/http/domains.js';

/** The name of the TXT record that verifies a domain. */
export const recordNameOf = (domain: string): string => `_linklog.${domain}`;

const verificationOf = (domain: string, token: string) =>
  ({ type: 'TXT', name: recordNameOf(domain), value: recordValueOf(token) }) as const;

/** A domain as an account sees it; `null` if the account neither has it nor claims it. */
export const domainResponseOf = (
  name: string,
  domain: Domain,
  account: string,
  linkCount: number,
  now: Date,
): DomainResponse | null => {
  const { owner } = domain;
  if (owner?.account === account) {
    const { rootRedirect, notFoundRedirect, expiredRedirect, createdAt, verifiedAt, token } = owner;
    return {
      domain: name,
      status: 'active',
      verification: token === null ? null : verificationOf(name, token),
      ...{ rootRedirect, notFoundRedirect, expiredRedirect },
      caseInsensitive: domain.caseInsensitive,
      ...{ linkCount, createdAt, verifiedAt },
    };
  }
  const claim = liveClaim(domain, account, now);
  if (!claim) return null;
  return {
    domain: name,
    status: 'pending',
    verification: verificationOf(name, claim.token),
    ...noRedirects,
    caseInsensitive: claim.caseInsensitive ?? false,
    ...{ linkCount, createdAt: claim.claimedAt, verifiedAt: null },
  };
};
