/** The fields of links in requests. */
import { z } from 'zod';
import { listOf } from '../list-of.js';

import { maxHostLength, parseUrl, schemeOf } from '../parse-url.js';
import { trimInvisible } from '../trim-invisible.js';

const maxUrlLength = 2_048;
/**
 * A destination that all clients parse equally: no `@` in its authority, no backslash before its query. WHATWG parsers
 * read `http://a\@b/` as host `a`, RFC 3986 parsers (wget) as host `b`. The pattern has no flags, because JSON Schema has
 * none. Control characters are excluded because parsers strip or rewrite some of them.
 */
export const destinationPattern =
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/\\?#@\u0000-\u001f\u007f-\u009f\u2028\u2029]+(?:\/[^\\?#\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?(?:[?#][^\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?$/;

/** The pattern of destinations that may have these schemes, too. */
export const patternWith = (schemes: readonly string[]): string =>
  `${destinationPattern.source}|^(?:${schemes.join('|').replaceAll('.', '\\.')}):[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$`;

/** Why a URL is invalid: `reason` in the error. `whitespace`: a control character, or white space in the host. */
export const urlFaults = [
  'missing',
  'scheme',
  'userinfo',
  'backslash',
  'ownHost',
  'host',
  'whitespace',
  'tooLong',
] as const;
export type UrlFault = (typeof urlFaults)[number];

export const invalidUrl = 'Please provide a valid URL';
const urlTooLong = `URL must be at most ${maxUrlLength} characters`;

const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const urlParts = /^https?:\/\/([^/\\?#]*)([^?#]*)/i;

/** What an installation accepts as the destination of a link. */
export interface Destinations {
  /** Whether a redirect to a URL would loop. */
  readonly isOwnHost: (url: URL) => boolean;
  /** Schemes beside http and https, in lower case: DESTINATION_SCHEMES. */
  readonly schemes: readonly string[] | 'any';
}

/** Of an installation without other schemes, as documents describe it. */
export const webDestinations: Destinations = { isOwnHost: () => false, schemes: [] };

/** For values that are checked again. */
export const anyDestination: Destinations = { ...webDestinations, schemes: 'any' };

/** The first fault of a trimmed destination; `null` if it is valid. */
const faultOf = (url: string, { isOwnHost, schemes }: Destinations): UrlFault | null => {
  if (url === '') return 'missing';
  if (url.length > maxUrlLength) return 'tooLong';
  const scheme = schemeOf(url);
  if (scheme !== '' && (schemes === 'any' || schemes.includes(scheme))) {
    if (controls.test(url) || !url.isWellFormed()) return 'whitespace';
    // A scheme alone leads nowhere.
    return url.length > scheme.length + 1 && parseUrl(url) ? null : 'host';
  }
  const [whole, authority = '', path = ''] = urlParts.exec(url) ?? [];
  if (whole === undefined) return 'scheme';
  // Unpaired surrogates are not characters.
  if (controls.test(url) || !url.isWellFormed()) return 'whitespace';
  if (authority.includes('@')) return 'userinfo';
  if (path.includes('\\')) return 'backslash';
  const parsed = authority === '' ? null : parseUrl(url);
  if (!parsed) return /\s/.test(authority) ? 'whitespace' : 'host';
  if (parsed.hostname.replace(/\.$/, '').length > maxHostLength) return 'host';
  if (parsed.href.length > maxUrlLength) return 'tooLong';
  return isOwnHost(parsed) ? 'ownHost' : null;
};

export const destination = (accepted: Destinations) =>
  z
    .string({ error: invalidUrl })
    .overwrite(trimInvisible)
    .superRefine((url, context) => {
      const fault = faultOf(url, accepted);
      if (fault === null) return;
      const message = fault === 'tooLong' ? urlTooLong : invalidUrl;
      context.addIssue({ code: 'custom', message, params: { reason: fault } });
    })
    .meta({
      maxLength: maxUrlLength,
      pattern: destinationPattern.source,
      description:
        'The destination, stored exactly as sent after white space and invisible characters at both ' +
        'ends are trimmed. In addition to the pattern: it is valid by the URL Standard, its normalised ' +
        'form has at most 2,048 characters and its host at most 253, and it does not lead to this ' +
        'service. The operator may permit other schemes.',
      examples: ['https://example.com/a?b=c'],
    });

export const storedUrl = z.string().describe('The destination, exactly as it was sent.');

/** The fault of the URL in a refused body; `null` if another field is invalid. */
export const urlFaultOf = (issue: z.core.$ZodIssue): UrlFault | null => {
  if (issue.message !== invalidUrl && issue.message !== urlTooLong) return null;
  // A value that is not a string is another kind of issue.
  return issue.code === 'custom' ? (issue.params?.['reason'] as UrlFault) : 'missing';
};

/** The length in characters, as in JSON Schema, not in UTF-16 units. */
const lengthOf = (text: string): number => Array.from(text).length;

const passwordBounds = { minLength: 4, maxLength: 100 } as const;

export const password = z
  .string({ error: 'password must be a string' })
  .refine((text) => {
    const length = lengthOf(text);
    return length >= passwordBounds.minLength && length <= passwordBounds.maxLength;
  }, 'Password must be between 4 and 100 characters')
  .meta(passwordBounds);

const maxClicksLimit = 1_000_000_000;

export const maxClicks = z
  .number({ error: 'maxClicks must be a number' })
  .min(1, { error: 'maxClicks must be at least 1', abort: true })
  .max(maxClicksLimit, { error: `maxClicks must be at most ${maxClicksLimit}`, abort: true })
  .int({ error: 'maxClicks must be an integer' });

/**
 * More combining marks than follow a letter in any language (UAX #15, Stream-Safe Text Format). Their normal form
 * takes time that is quadratic in their number.
 */
const tooManyMarks = /(?<!\p{M})\p{M}{31}/u;

/** A text as it is stored and compared: trimmed, and in NFC. */
export const canonicalText = (text: string): string => {
  const trimmed = text.trim();
  return tooManyMarks.test(trimmed) ? trimmed : trimmed.normalize('NFC');
};

const outerSpace =
  '[\\u0009-\\u000d \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*';

/**
 * The pattern of a text before it is trimmed, for the OpenAPI document. It contains the bounds of the trimmed length,
 * because `maxLength` would include the white space.
 *
 * @param pattern from `^` to `*$`
 */
const withOuterSpace = ({ source }: RegExp, minLength: number, maxLength: number): string =>
  `^${outerSpace}${source.slice(1, -2)}{${minLength},${maxLength}}${outerSpace}$`;

/** A text that PostgreSQL stores and a page can show. Its bounds are those of its canonical form. */
export const text = (
  bounds: { readonly minLength?: number; readonly maxLength: number },
  pattern: RegExp,
  error: string,
) => {
  const { minLength = 0, maxLength } = bounds;
  return z
    .string({ error })
    .overwrite(canonicalText)
    .regex(pattern, error)
    .refine((value) => {
      const length = lengthOf(value);
      return length >= minLength && length <= maxLength && value.isWellFormed();
    }, error)
    .refine((value) => !tooManyMarks.test(value), 'At most 30 combining marks in a row')
    .meta({
      ...(minLength > 0 && { minLength }),
      pattern: withOuterSpace(pattern, minLength, maxLength),
    });
};

export const lineNamed = (field: string) =>
  text(
    { maxLength: 200 },
    /^[^\u0000-\u001f\u007f-\u009f]*$/,
    `${field} must have at most 200 characters, none of them control characters`,
  );

const ownersOnly = 'For the owner; visitors do not see it.';

export const title = lineNamed('title').describe(ownersOnly);

export const note = text(
  { maxLength: 2_000 },
  /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/,
  'note must have at most 2000 characters, no control characters but tabs and line ends',
).describe(ownersOnly);

/** The maximum per link. */
export const maxTags = 20;

const tagsMessageOf = (field: string): string =>
  `${field} must be at most 20 texts of 1 to 50 characters, without commas and control characters`;

export const tagsMessage = tagsMessageOf('tags');

const tagBounds = { minLength: 1, maxLength: 50 } as const;

export const tagOr = (error: string) => text(tagBounds, /^[^,\u0000-\u001f\u007f-\u009f]*$/, error);

/** The tags of a field, without duplicates, in the order of the request. */
export const tagsIn = (field: string) => {
  const error = tagsMessageOf(field);
  return listOf(tagOr(error), { max: maxTags, error }).transform((list): readonly string[] => [
    ...new Set(list),
  ]);
};

export const tags = tagsIn('tags');
