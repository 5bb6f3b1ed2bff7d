import { z } from 'zod';
import { named, objectOf, request, requestParts } from '../components.js';
import { domainNameOf } from '../domain-name.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { messages } from './errors.js';
import { createdAt, given } from './fields.js';
import { accountName } from './keys.js';
import { domainName } from './link-address.js';
import { destination, type Destinations } from './link-fields.js';
import { nothingToChange } from './links.js';
import { nextPage, pageLimit } from './paging.js';
import { readAs } from './query.js';
import {
  call,
  changed,
  done,
  found,
  json,
  linksTo,
  type OperatorRows,
  routeGroup,
} from './route.js';

const ownName = readAs(domainNameOf, messages.domainInvalid).meta({
  type: 'string',
  description:
    'A host name without port. Unicode is converted to ASCII (UTS 46). Neither an IP address nor a public suffix.',
  examples: ['go.example.com'],
});

const caseText = 'Whether letters of either case are the same in its codes.';

const wantedCase = given(z.boolean({ error: 'caseInsensitive must be true or false' })).describe(
  `${caseText} It cannot change later. Default: \`false\`, or the value that the domain has.`,
);

export const claimDomainRequest = request('ClaimDomainRequest', messages.domainInvalid, {
  domain: ownName,
  caseInsensitive: wantedCase,
});

const addDomainRequest = request('AddDomainRequest', messages.domainInvalid, {
  domain: ownName,
  account: accountName,
  caseInsensitive: wantedCase,
});

/** The fields of redirects. */
const redirectFields = <Schema extends z.ZodType>(redirect: Schema) => ({
  rootRedirect: redirect.describe(
    'Where browsers are redirected for `/`; `null`: they get a page.',
  ),
  notFoundRedirect: redirect.describe(
    'Where browsers are redirected for unknown links; `null`: they get a page.',
  ),
  expiredRedirect: redirect.describe(
    'Where browsers are redirected for expired, disabled and deleted links; `null`: they get a page.',
  ),
});

/** PATCH /v2/domains/:domain. Absent fields stay; `null` removes the redirect. */
export const changeDomainRequest = (accepted: Destinations) => {
  const redirect = destination({ ...accepted, schemes: [] })
    .nullable()
    .optional();
  return objectOf(nothingToChange, redirectFields(redirect))
    .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
    .meta({
      description: 'Unknown properties are stripped. Absent fields stay; `null` removes the value.',
      minProperties: 1,
    })
    .register(requestParts, { id: 'ChangeDomainRequest' });
};

const domainResponse = named('OwnDomain', {
  domain: z.string().describe('Lower-case ASCII.'),
  status: z.enum(['pending', 'active']).describe('`pending`: claimed, but not verified.'),
  verification: named('DnsRecord', {
    type: z.literal('TXT').describe('The type of the record.'),
    name: z.string().describe('The full host name of the record.'),
    value: z.string().describe('The text of the record.'),
  })
    .nullable()
    .describe('The DNS record that verifies the domain; `null` if an operator added it.'),
  ...redirectFields(z.string().nullable()),
  caseInsensitive: z.boolean().describe(caseText),
  linkCount: z.int().min(0).describe('Links that are not deleted.'),
  createdAt,
  verifiedAt: timestamp.nullable().describe('When it became active; `null`: it is pending.'),
});
export type DomainResponse = z.infer<typeof domainResponse>;

export const domainListResponse = named('DomainPage', {
  domains: z.array(domainResponse).describe('Active domains, and claims of the last 7 days.'),
  next: nextPage,
});

const operatorsDomain = named('OperatorsDomain', { ...domainResponse.shape, account: accountName });
export type OperatorsDomain = z.infer<typeof operatorsDomain>;

const releasedDomain = named('ReleasedDomain', { domain: z.string(), account: z.null() });

export const domainPageResponse = named('OperatorsDomainPage', {
  domains: z.array(operatorsDomain),
  next: nextPage,
});

/** A page of domains, by name. */
export const domainPageQuery = z.object({
  limit: pageLimit.default(100),
  after: readAs(domainNameOf, 'after must be a domain')
    .optional()
    .meta({ type: 'string', description: 'The `next` of the previous page.' }),
});

const domain = {
  domain: 'go.example.com',
  status: 'active',
  verification: {
    type: 'TXT',
    name: '_linklog.go.example.com',
    value: 'linklog=wrjOiaWsw-oKXWNj0b7HADPY',
  },
  rootRedirect: 'https://example.com/',
  notFoundRedirect: null,
  expiredRedirect: null,
  caseInsensitive: false,
  linkCount: 12,
  createdAt: '2026-05-01T12:00:00.000Z',
  verifiedAt: '2026-05-01T12:10:00.000Z',
};

const claimed = {
  ...domain,
  ...{ status: 'pending', rootRedirect: null, linkCount: 0, verifiedAt: null },
};

export const domainRoutes = routeGroup(
  {
    ...{ tag: 'Domains', scope: 'domains:manage', topic: topics.accounts.name },
    parameters: { domain: domainName.describe('Unicode is converted to ASCII.') },
  },
  {
    claimDomain: call('POST /domains', 'Claim a domain', {
      description:
        'Add the TXT record of the response, and verify the domain within 7 days. The plan has the number of ' +
        'domains, including claims.',
      body: claimDomainRequest,
      examples: { domain: { domain: 'go.example.com' } },
      returns: {
        200: json('The account already has or claims the domain.', domainResponse, { domain }),
        201: json(
          'The claim, with the record to add.',
          domainResponse,
          { domain: claimed },
          linksTo('domain', 'getDomain', 'changeDomain', 'releaseDomain', 'verifyDomain'),
        ),
      },
      errors: [409],
    }),
    getDomains: call('GET /domains', 'List the domains of the account', {
      scope: 'links:read',
      description: 'Active domains, and claims of the last 7 days, by name.',
      query: domainPageQuery,
      returns: {
        200: json('A page of domains.', domainListResponse, {
          domains: { domains: [domain, claimed], next: null },
        }),
      },
    }),
    getDomain: call('GET /domains/:domain', 'Get a domain of the account', {
      scope: 'links:read',
      description:
        'An active domain, or a claim of the last 7 days. `linkCount` is without deleted links.',
      returns: { 200: json('The domain.', domainResponse, { domain }) },
    }),
    changeDomain: call('PATCH /domains/:domain', 'Change the redirects of an active domain', {
      description: 'They replace pages for browsers. A blocked link keeps its page.',
      body: changeDomainRequest,
      examples: { root: { rootRedirect: 'https://example.com/', notFoundRedirect: null } },
      returns: { 200: json('The changed domain.', domainResponse, { domain }) },
    }),
    releaseDomain: call('DELETE /domains/:domain', 'Release a domain, or withdraw its claim', {
      description: 'Delete its links first.',
      returns: { 204: done('The domain is released.') },
      errors: [409],
    }),
    verifyDomain: call('POST /domains/:domain/verify', 'Verify a claimed domain', {
      description: 'Queries the TXT record. The first account that verifies a domain gets it.',
      returns: { 200: json('The active domain.', domainResponse, { domain }) },
      errors: [409],
    }),
  },
);

/** Operators' calls on domains. */
export const operatorsDomainRoutes = {
  listDomains: call('GET /domains', 'List the active domains of all accounts', {
    query: domainPageQuery.extend({
      claims: z.enum(['0', '1'], { error: 'claims must be 0 or 1' }).default('0'),
    }),
    returns: found(domainPageResponse),
  }),
  addDomain: call('POST /domains', 'Add an active domain to an account, without a DNS check', {
    body: addDomainRequest,
    errors: [409],
    returns: changed(operatorsDomain, 200, 201),
  }),
  removeDomain: call('DELETE /domains/:domain', 'Release a domain', {
    returns: changed(releasedDomain),
  }),
} satisfies OperatorRows;
