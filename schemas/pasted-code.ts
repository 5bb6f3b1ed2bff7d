import { domainNameOf } from './domain-name.js';
import { linkCodeOf, type LinkIdentity } from './link-subject.js';
import { trimInvisible } from './trim-invisible.js';

/** A short URL with or without its scheme: host, code, and characters that are pasted with it. */
const shortUrl = /^(https?:\/\/)?([^\s/?#@]+)\/([^\s/?#]+?)\+?\/?(?:[?#].*)?$/i;

interface Pasted {
  /** Lower case, with the port; `null`: the text is a short code. */
  readonly host: string | null;
  readonly code: string;
  readonly hasScheme: boolean;
}

/** The code in NFC that a text is, percent-encoded or not; any other text as it is. No code contains a `%`. */
const codeIn = (text: string): string => {
  try {
    return linkCodeOf(decodeURIComponent(text)) ?? text;
  } catch {
    return text;
  }
};

const read = (text: string): Pasted => {
  const trimmed = trimInvisible(text);
  const [, scheme, host, code] = shortUrl.exec(trimmed) ?? [];
  const hasScheme = scheme !== undefined;
  return host === undefined || code === undefined
    ? { host: null, code: codeIn(trimmed), hasScheme }
    : { host: host.toLowerCase(), code: codeIn(code), hasScheme };
};

/** The short code in a short URL of this installation; `null` for every other text. */
export const codeOfShortUrl = (text: string, shortUrlHost: string): string | null => {
  const { host, code } = read(text);
  return host === new URL(shortUrlHost).host ? code : null;
};

interface Domains {
  /** `SHORT_URL_HOST`; `null` if it is unknown. */
  readonly shortUrlHost: string | null;
  /** @param name in canonical form: see `domainNameOf` */
  readonly isActive: (name: string) => Promise<boolean>;
}

/**
 * The link that a text names: `code`, `domain/code` or a short URL. As at the edge, a host that is not an active domain
 * is the default domain. `domain/code` names the link on that domain even after its release.
 */
export const pastedLink = async (
  text: string,
  { shortUrlHost, isActive }: Domains,
): Promise<LinkIdentity> => {
  const { host, code, hasScheme } = read(text);
  if (host === null) return { domain: null, code };
  const hostname = host.replace(/:\d*$/, '');
  const domain = domainNameOf(hostname);
  if (domain === null) return { domain, code };
  const isUrl =
    hasScheme ||
    hostname !== host ||
    (shortUrlHost !== null && domain === domainNameOf(new URL(shortUrlHost).hostname));
  return { domain: isUrl && !(await isActive(domain)) ? null : domain, code };
};
