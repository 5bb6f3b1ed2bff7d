/** The entity tag of a link's version. */
export const etagOf = (version: number): string => `"${version}"`;

/** Weak tags match too, because compressing proxies weaken tags. */
const entityTag = /^(?:W\/)?"([1-9]\d*)"$/;

/** The versions in `If-Match` (RFC 9110); `null` (no or an empty header, or `*`): any version. */
export const ifMatch = (header: string | undefined): readonly number[] | null => {
  if (header === undefined || ['', '*'].includes(header.trim())) return null;
  return header.split(',').flatMap((tag) => {
    const version = entityTag.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
};
