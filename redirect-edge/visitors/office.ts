/**
 * Microsoft Office requests a link itself, and then opens the browser at the address to which it was redirected.
 * A page that refreshes keeps it from that: the browser opens the short URL, and only its visit counts.
 */

/** The name in the query of the request to which that page leads. */
const mark = 'ms-office';
const marked = /(?:^|&)ms-office(?:[=&]|$)/;
const agent = /ms-?office/i;

export const isOfficeAgent = (userAgent: string): boolean => agent.test(userAgent);

export const isMarked = (query: string): boolean => marked.test(query);

export const withMark = (query: string): string => (query === '' ? mark : `${query}&${mark}`);
