const first = /^[ \t]*([a-z]{2,3})(?:[-;, \t]|$)/i;

/** The primary subtag of the first language in an `Accept-Language` header, such as `de`; or `null`. */
export const languageOf = (header: string): string | null =>
  first.exec(header)?.[1]?.toLowerCase() ?? null;
