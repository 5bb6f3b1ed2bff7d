import { z } from 'zod';
import { responseParts } from '../components.js';
import { domainNameOf } from '../domain-name.js';
import { timestamp } from '../events/envelope.js';
import { messages } from './errors.js';
import { accountName } from './keys.js';
import { destination } from './link-fields.js';
import { nothingToChange } from './links.js';
import { pageLimit } from './paging.js';
import { readAs } from './query.js';

const ownName = readAs(domainNameOf, messages.domainInvalid).meta({
  type: 'string',
  description:
    'A host name without port. Unicode is converted to ASCII (UTS 46). Neither an IP address nor a public suffix.',
  examples: ['go.example.com'],
});

/** POST /v2/domains */
export const claimDomainRequest = z.object({ domain: ownName }, { error: messages.domainInvalid });

/** POST /admin/domains */
export const addDomainRequest = z.object(
  { domain: ownName, account: accountName },
  { error: messages.domainInvalid },
);

/** PATCH /v2/domains/:domain. Absent fields stay; `null` removes the redirect. */
export const changeDomainRequest = (isOwnHost: (destination: URL) => boolean) => {
  const redirect = destination(isOwnHost).nullable().optional();
  return z
    .object(
      {
        rootRedirect: redirect.meta({ description: 'Replaces the page for `/`.' }),
        notFoundRedirect: redirect.meta({ description: 'Replaces the page for unknown links.' }),
        expiredRedirect: redirect.meta({
          description: 'Replaces the page for expired, disabled and deleted links.',
        }),
      },
      { error: nothingToChange },
    )
    .refine((change) => Object.values(change).some((value) => value !== undefined), nothingToChange)
    .meta({
      description: 'Unknown properties are stripped. Absent fields stay; `null` removes the value.',
      minProperties: 1,
    });
};

export const domainResponse = z.object({
  domain: z.string().describe('Lower-case ASCII.'),
  status: z.enum(['pending', 'active']),
  verification: z
    .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
    .register(responseParts, { id: 'DnsRecord' })
    .nullable()
    .describe('The DNS record that verifies the domain; `null` if an operator added it.'),
  rootRedirect: z.string().nullable(),
  notFoundRedirect: z.string().nullable(),
  expiredRedirect: z.string().nullable(),
  linkCount: z.int().min(0).describe('Links that are not deleted.'),
  createdAt: timestamp,
  verifiedAt: timestamp.nullable(),
});
export type DomainResponse = z.infer<typeof domainResponse>;

/** GET /v2/domains */
export const domainListResponse = z.object({ domains: z.array(domainResponse) });

/** POST and GET /admin/domains */
export const operatorsDomain = domainResponse.extend({ account: accountName });
export type OperatorsDomain = z.infer<typeof operatorsDomain>;

/** DELETE /admin/domains/:domain */
export const releasedDomain = z.object({ domain: z.string(), account: z.null() });

/** GET /admin/domains */
export const domainPageResponse = z.object({
  domains: z.array(operatorsDomain),
  next: z.string().nullable(),
});

/** The query of GET /admin/domains: all active domains, by name. */
export const domainPageQuery = z.object({
  limit: pageLimit.default(100),
  after: readAs(domainNameOf, 'after must be a domain').optional(),
});
