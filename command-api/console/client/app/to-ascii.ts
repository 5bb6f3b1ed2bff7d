/** Replaces `tr46` in the bundle: the URL parser of a browser converts domains itself. */
export const toASCII = (domain: string): string => domain;
