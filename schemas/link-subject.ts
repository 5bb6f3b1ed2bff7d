/** A link: a code on a domain. */
export interface LinkIdentity {
  /** Lower-case ASCII host without port; `null`: the default domain. */
  readonly domain: string | null;
  readonly code: string;
}

/** The subject of a link's events: `code` on the default domain, otherwise `domain/code`. No code contains a slash. */
export const subjectOf = ({ domain, code }: LinkIdentity): string =>
  domain === null ? code : `${domain}/${code}`;

/** The link of a subject. */
export const linkOfSubject = (subject: string): LinkIdentity => {
  const slash = subject.indexOf('/');
  return slash < 0
    ? { domain: null, code: subject }
    : { domain: subject.slice(0, slash), code: subject.slice(slash + 1) };
};

/** The subjects of a domain are between these two texts in the order of their bytes. */
export const subjectRangeOf = (domain: string): readonly [after: string, before: string] => [
  `${domain}/`,
  // The character after the slash.
  `${domain}0`,
];

export const shortCodePattern = /^[A-Za-z0-9_-]{3,50}$/;

/**
 * The short URL of a link.
 *
 * @param defaultHost scheme and host of the default domain, such as `https://go.example.com`
 */
export const shortUrlOf = (subject: string, defaultHost: string): string => {
  const { domain } = linkOfSubject(subject);
  if (domain === null) return `${defaultHost}/${subject}`;
  return `${defaultHost.slice(0, defaultHost.indexOf(':'))}://${subject}`;
};
