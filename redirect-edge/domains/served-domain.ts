import type { IncomingHttpHeaders } from 'node:http';
import type { ProxyTrust } from '../../ops/http/client-address.js';
import { requestHost } from '../../ops/http/request-origin.js';
import type { ActiveDomains } from '../../ops/ledger/active-domains.js';
import type { ActiveDomain } from '../../ops/ledger/domains.js';
import type { ServedLink } from '../redirect/decision.js';
import type { DomainRedirects } from '../../schemas/folds/domain.js';
import { foldCode } from '../../schemas/link-subject.js';
import { locationOf } from '../../schemas/location.js';

/** The domain of a request: which links it has, and where browsers are redirected instead of a page. */
export interface ServedDomain extends DomainRedirects {
  /** The text before the code in the subjects of its links. */
  readonly prefix: string;
  /** Whether letters of either case are the same in the codes of its links. */
  readonly ignoresCase: boolean;
  /** Only links of this account are served; `null`: all. */
  readonly account: string | null;
}

/** The values of `Location` headers. */
const locationsOf = (redirects: DomainRedirects): DomainRedirects => ({
  rootRedirect: redirects.rootRedirect && locationOf(redirects.rootRedirect),
  notFoundRedirect: redirects.notFoundRedirect && locationOf(redirects.notFoundRedirect),
  expiredRedirect: redirects.expiredRedirect && locationOf(redirects.expiredRedirect),
});

/**
 * Whether a domain serves a link with its prefix. A domain that changed its account does not have the links of the account
 * before.
 */
export const serves = ({ account }: ServedDomain, link: Pick<ServedLink, 'account'>): boolean =>
  account === null || link.account === account;

/** The subject of a requested code. @param code the result of `linkCodeOf`, or of the parser of the fast path */
export const subjectOn = ({ prefix, ignoresCase }: ServedDomain, code: string): string =>
  prefix + (ignoresCase ? foldCode(code) : code);

const portOrDot = /\.?(?::\d*)?$/;

/** Determines the domain of requests. A host that is not an active domain has the default domain. */
export const createDomainResolver = (deps: {
  readonly domains: Pick<ActiveDomains, 'find' | 'ignoresCase'>;
  /** The redirects of the default domain. */
  readonly redirects: DomainRedirects;
  readonly trustedProxies: ProxyTrust;
}) => {
  const { domains, trustedProxies } = deps;
  const defaultDomain = {
    ...{ prefix: '', ignoresCase: domains.ignoresCase(null), account: null },
    ...locationsOf(deps.redirects),
  };
  const served = new WeakMap<ActiveDomain, ServedDomain>();

  /** The host of a request: lower case, without port and trailing dot. @param peer the result of `addressOf` */
  const hostOf = (headers: IncomingHttpHeaders, peer: string): string =>
    requestHost(headers, peer, trustedProxies).replace(portOrDot, '').toLowerCase();

  /** @param host the result of `hostOf` */
  const domainOf = (host: string): ServedDomain => {
    const active = domains.find(host);
    if (!active) return defaultDomain;
    const known = served.get(active);
    if (known) return known;
    const { domain, account, caseInsensitive: ignoresCase } = active;
    const added = { prefix: `${domain}/`, ignoresCase, account, ...locationsOf(active) };
    served.set(active, added);
    return added;
  };

  return { hostOf, domainOf };
};

export type DomainResolver = ReturnType<typeof createDomainResolver>;
