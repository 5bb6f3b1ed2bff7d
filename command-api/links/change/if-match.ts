/** The entity tag of a link's version. */
export const etagOf = (version: number): string => `"${version}"`;

/**
 * Whether a version is one that `If-Match` names, by RFC 9110: `*` names every one, a weak tag none. Without
 * the header, every version will do.
 */
export const ifMatch = (header: string | undefined): ((version: number) => boolean) => {
  if (header === undefined || header.trim() === '*') return () => true;
  const named = new Set(header.split(',').map((tag) => tag.trim()));
  return (version) => named.has(etagOf(version));
};
