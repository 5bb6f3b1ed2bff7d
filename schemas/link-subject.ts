/** A link: a code on a domain. `domain` is `null` on the default domain. */
export interface LinkIdentity {
  /** Lower-case ASCII host without port. */
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
