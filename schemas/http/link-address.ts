/** How requests address links on domains. */
import { z } from 'zod';
import { domainNameOf } from '../domain-name.js';
import { linkOfSubject, aliasPattern, subjectOf } from '../link-subject.js';
import { readAs } from './query.js';

/** A domain in a request, in its canonical form. */
export const domainName = readAs(
  domainNameOf,
  'domain must be a host, such as go.example.com',
).meta({ type: 'string', examples: ['go.example.com'] });

/** The query of a path with `:shortCode`. */
export const linkDomainQuery = z.object({
  domain: domainName.optional().describe('The domain of the link. Default: the default domain.'),
});

/** The subject that a text names, `code` or `domain/code`; `null` if no link can have it. */
export const subjectIn = (text: string): string | null => {
  const { domain, code } = linkOfSubject(text);
  if (!aliasPattern.test(code)) return null;
  if (domain === null) return code;
  const name = domainNameOf(domain);
  return name === null ? null : subjectOf({ domain: name, code });
};
