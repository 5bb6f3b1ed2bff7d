/** The entity tag of a link's version. */
export const etagOf = (version: number): string => `"${version}"`;

/** A weak tag matches, too: compressing proxies weaken tags, and versions are exact. */
const entityTag = /^(?:W\/)?"([1-9]\d*)"$/;

/** The versions that `If-Match` names (RFC 9110); `null`, without the header or with `*`: every version. */
export const ifMatch = (header: string | undefined): readonly number[] | null => {
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').flatMap((tag) => {
    const version = entityTag.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
};
