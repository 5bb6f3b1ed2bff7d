/** Addresses of links, in the console and in its calls: `?domain=` names the domain, as in the API. */
import { linkOfSubject, subjectOf } from '../../schemas/link-subject.js';

export interface AddressedLink {
  readonly shortCode: string;
  /** Absent or `null`: the default domain. */
  readonly domain?: string | null | undefined;
}

/** Identifies a link in lists and in bulk changes: `code`, or `domain/code`. */
export const subjectOfLink = ({ shortCode, domain = null }: AddressedLink): string =>
  subjectOf({ domain, code: shortCode });

/** @param mayBeEmpty parameters whose empty values have a meaning */
export const withQuery = (
  path: string,
  parameters: Readonly<Record<string, string>>,
  mayBeEmpty: Readonly<Record<string, string>> = {},
): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  const entries = [...given, ...Object.entries(mayBeEmpty)];
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries).toString()}`;
};

/**
 * The path and query of a link.
 *
 * @param base the path of the links, such as `/v2/links`
 * @param rest the part of the path after the short code
 */
export const linkPath = (
  base: string,
  { shortCode, domain }: AddressedLink,
  rest = '',
  parameters: Readonly<Record<string, string>> = {},
): string =>
  withQuery(`${base}/${encodeURIComponent(shortCode)}${rest}`, {
    domain: domain ?? '',
    ...parameters,
  });

/** A short URL as browsers display it: the code is not percent-encoded. */
export const textOfShortUrl = (shortUrl: string): string => decodeURIComponent(shortUrl);

export const linkPage = (link: AddressedLink, tab = ''): string =>
  linkPath('/console/links', link, tab && `/${tab}`);

/** The page of a link by its subject in an event. */
export const pageOfSubject = (subject: string): string => {
  const { domain, code } = linkOfSubject(subject);
  return linkPage({ domain, shortCode: code });
};
