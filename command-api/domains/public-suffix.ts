/**
 * Whether domains are registered directly below this name, such as `co.uk` and `github.io`. An unlisted top-level domain
 * is a suffix, too.
 */
export const isPublicSuffix = async (name: string): Promise<boolean> => {
  // Imported with the first claim: the list takes 20 ms and 2 MB.
  const { getPublicSuffix } = await import('tldts');
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name;
};
