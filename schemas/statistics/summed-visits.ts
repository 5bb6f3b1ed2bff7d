import { linkOfSubject } from '../link-subject.js';

/** The key of the statistics of an account's links on a domain. Names of accounts have no slash. */
export const domainKeyOf = (account: string, domain: string): string => `${account}/${domain}`;

/** The keys of the statistics that sum up the visits of a link: those of its account, and of its domain. */
export const summedUnder = (account: string, subject: string): readonly string[] => {
  const { domain } = linkOfSubject(subject);
  return domain === null ? [account] : [account, domainKeyOf(account, domain)];
};
