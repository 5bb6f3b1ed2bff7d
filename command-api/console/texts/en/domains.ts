import type { FormatNumber } from '../../numbers.js';

export const domains = (number: FormatNumber) => ({
  status: { active: 'active', pending: 'pending' },
  redirects: {
    rootRedirect: 'Home page',
    notFoundRedirect: 'Unknown links',
    expiredRedirect: 'Expired links',
  },
  redirectHints: {
    rootRedirect: 'Replaces the page for the domain without a short code.',
    notFoundRedirect: 'Replaces the page for links that do not exist.',
    expiredRedirect: 'Replaces the page for expired, disabled and deleted links.',
  },
  editTitle: (domain: string) => `Redirects of ${domain}`,
  editHint:
    'Browsers are redirected to these URLs. Without a URL, they get the page of Linklog, like other clients.',
  edit: 'Change redirects',
  save: 'Save',
  saved: 'The redirects were saved.',
  ownPage: 'the page of Linklog',
  remove: 'Remove',
  removeTitle: (domain: string) => `Remove ${domain}?`,
  removePending: 'The claim ends. A new claim gets another TXT record.',
  removeActive:
    'This account can no longer create links on it, and another account may claim it. A domain with links cannot be removed: delete its links first.',
  removed: 'The domain was removed.',
  newDomain: 'New domain',
  domainHint:
    'A host name whose DNS records point to this service. A TXT record verifies that it is yours.',
  domainExample: 'go.example.com',
  claim: 'Claim the domain',
  claimed: 'The domain was claimed. Verify it now.',
  links: (count: number) => (count === 1 ? 'One link' : `${number(count)} links`),
  added: (day: string) => `Added by an operator on ${day}.`,
  verifiedOn: (day: string) => `Verified on ${day}.`,
  claimedOn: (day: string) => `Claimed on ${day}.`,
  none: 'This account has no domains of its own yet.',
  record: { type: 'Type', name: 'Name', value: 'Value' },
  /** After "Copy", for screen readers. */
  recordPart: { type: 'the type', name: 'the name', value: 'the value' },
  recordHint: 'Create this DNS record, then verify the domain. A claim ends after 7 days.',
  verify: 'Verify',
  verified: 'The domain is verified.',
  /** After an error message. */
  noRecord:
    ': {name} has no TXT record yet. A new record may need minutes until DNS servers return it.',
  found: '. Found:',
});
