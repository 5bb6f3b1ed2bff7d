/** The pages of links, which are loaded when one of them is shown first. */
export { LinkPage } from './link/link-page.js';
export { Links } from './links/links.js';
export { Make } from './make/make.js';
