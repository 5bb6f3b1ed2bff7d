/** The fields of a link that requests may name. */
import { z } from 'zod';
import { parseUrl } from '../parse-url.js';

const maxUrlLength = 2_048;
/** Of a domain name, without a trailing dot (RFC 1035). */
export const maxHostLength = 253;
/**
 * A destination that all clients read alike: no `@` in its authority, no backslash before its query.
 * WHATWG parsers read `http://a\@b/` as host `a`, RFC 3986 parsers (wget) as host `b`. The pattern is
 * written without a flag, because JSON Schema has none. The parser strips or rewrites some control
 * characters; none has a place in a URL, nor in a header.
 */
export const destinationPattern =
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/\\?#@\u0000-\u001f\u007f-\u009f\u2028\u2029]+(?:\/[^\\?#\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?(?:[?#][^\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?$/;

/** The parsed form of a destination, or `null` where it is none that we take. */
const parseDestination = (url: string): URL | null => {
  const parsed = url.isWellFormed() ? parseUrl(url) : null;
  if (!parsed || parsed.href.length > maxUrlLength) return null;
  return parsed.hostname.replace(/\.$/, '').length <= maxHostLength ? parsed : null;
};

export const invalidUrl = 'Please provide a valid URL';
/** A destination. `isOwnHost` tells those that would loop. */
export const destination = (isOwnHost: (destination: URL) => boolean) =>
  z
    .string({ error: invalidUrl })
    .trim()
    .max(maxUrlLength, { error: invalidUrl, abort: true })
    .regex(destinationPattern, { error: invalidUrl, abort: true })
    .refine((url) => {
      const parsed = parseDestination(url);
      return parsed !== null && !isOwnHost(parsed);
    }, invalidUrl)
    .meta({
      description:
        'The destination, kept exactly as it is sent; outer white space is trimmed first. ' +
        'Beyond the pattern: it parses as the URL Standard has it, has at most 2,048 ' +
        'characters in its normalised form too, its host at most 253, and does not lead to this ' +
        'service itself.',
      examples: ['https://example.com/a?b=c'],
    });

/** Counted as JSON Schema counts: what takes two UTF-16 units is one character. */
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

/** A text that PostgreSQL stores and a page can show. */
const text = (
  bounds: { readonly minLength?: number; readonly maxLength: number },
  pattern: RegExp,
  error: string,
) => {
  const { minLength = 0, maxLength } = bounds;
  return z
    .string({ error })
    .regex(pattern, error)
    .refine((value) => {
      const length = lengthOf(value);
      return length >= minLength && length <= maxLength && value.isWellFormed();
    }, error)
    .meta(bounds);
};

export const title = text(
  { maxLength: 200 },
  /^[^\u0000-\u001f\u007f-\u009f]*$/,
  'title must have at most 200 characters, none of them control characters',
);

export const note = text(
  { maxLength: 2_000 },
  /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/,
  'note must have at most 2000 characters, no control characters but tabs and line ends',
);

/** How many a link may have. */
export const maxTags = 20;

const tagsMessageOf = (field: string): string =>
  `${field} must be at most 20 texts of 1 to 50 characters, without commas and control characters`;

export const tagsMessage = tagsMessageOf('tags');

const tagBounds = { minLength: 1, maxLength: 50 } as const;

/** A tag, of which `error` says what it must be. */
export const tagOr = (error: string) => text(tagBounds, /^[^,\u0000-\u001f\u007f-\u009f]*$/, error);

/** Tags in a field of this name: each of them once, in the order in which they came. */
export const tagsIn = (field: string) => {
  const error = tagsMessageOf(field);
  return z
    .array(tagOr(error), { error })
    .max(maxTags, error)
    .transform((all): readonly string[] => [...new Set(all)]);
};

export const tags = tagsIn('tags');
