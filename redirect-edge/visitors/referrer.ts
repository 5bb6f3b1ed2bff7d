import { isIP } from 'node:net';
import { maxHostLength, parseUrl } from '../../schemas/parse-url.js';

const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const www = /^www\.(?=[^.]+\.)/;

/**
 * The host of the page that a `Referer` header names: lower case, without `www.`, a trailing dot and a
 * port. `null` for our own hosts, for addresses, and for what is no page on the web.
 */
export const referrerOf = (header: string, isOwnHost: (url: URL) => boolean): string | null => {
  const url = parseUrl(header);
  if (url === null || !/^https?:$/.test(url.protocol) || isOwnHost(url)) return null;
  const host = url.hostname.replace(/\.$/, '').replace(www, '');
  return host.length <= maxHostLength && hostName.test(host) && isIP(host) === 0 ? host : null;
};
