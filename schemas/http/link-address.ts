/** How requests address links on domains. */
import { z } from 'zod';
import { hostNameOf } from '../domain-name.js';
import {
  linkCodeOf,
  linkOfSubject,
  maxCodeLength,
  subjectOf,
  type IgnoresCase,
} from '../link-subject.js';
import { readAs } from './query.js';

/** A domain in a request, in its canonical form. The host of the default domain can be an IP address or one label. */
export const domainName = readAs(hostNameOf, 'domain must be a host, such as go.example.com').meta({
  type: 'string',
  examples: ['go.example.com'],
});

/** What JSON Schema can express of a code; `maxLength` counts code points. */
const codeSchema = {
  type: 'string',
  minLength: 1,
  maxLength: maxCodeLength,
  examples: ['spring-sale', 'café'],
};

/** The code of a link in a response or a path. */
export const shortCode = z.string().meta({
  ...codeSchema,
  description:
    'An alias, a generated code, or the code of an imported link: letters, marks and digits of ' +
    'all scripts, emoji, `-`, `_`, `.` and `~`, in NFC. Percent-encoded in a path.',
});

/** The short URL of a link in a response. */
export const shortUrl = z.url().describe('The address to share, which redirects visitors.');

/** The code of a link in a query, in NFC. */
export const requestedCode = readAs(linkCodeOf, 'shortCode must be a short code').meta(codeSchema);

/** The query of a path with `:shortCode`. */
export const linkDomainQuery = z.object({
  domain: domainName.optional().describe('The domain of the link. Default: the default domain.'),
});

/** The subject that a text names, `code` or `domain/code`; `null` if no link can have it. */
export const subjectIn = (
  address: string,
  defaultDomain: string | null,
  ignoresCase?: IgnoresCase,
): string | null => {
  const { domain, code: text } = linkOfSubject(address);
  const code = linkCodeOf(text);
  const name = domain === null ? null : hostNameOf(domain);
  if (code === null || (domain !== null && name === null)) return null;
  return subjectOf({ domain: name === defaultDomain ? null : name, code }, ignoresCase);
};
