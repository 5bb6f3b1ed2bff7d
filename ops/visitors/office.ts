/**
 * Microsoft Office requests a link itself, follows redirects, and then opens the browser at the final address. Instead
 * of a redirect, it gets a page with a refresh. Then the browser opens the short URL, and only that visit counts.
 */

/** The query parameter that marks the request of that refresh. */
const mark = 'ms-office';
const marked = /(?:^|&)ms-office(?:[=&]|$)/;
const agent = /ms-?office/i;

export const isOfficeAgent = (userAgent: string): boolean => agent.test(userAgent);

export const isMarked = (query: string): boolean => marked.test(query);

export const withMark = (query: string): string => (query === '' ? mark : `${query}&${mark}`);
