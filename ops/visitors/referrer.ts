import { isIP } from 'node:net';
import { maxHostLength, parseUrl } from '../../schemas/parse-url.js';

const hostName = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const www = /^www\.(?=[^.]+\.)/;

/**
 * The host of a `Referer` header: lower case, without `www.`, trailing dot and port. `null` for own hosts, IP addresses
 * and other schemes than http and https.
 */
export const referrerOf = (header: string, isOwnHost: (url: URL) => boolean): string | null => {
  const url = parseUrl(header);
  if (url === null || !/^https?:$/.test(url.protocol) || isOwnHost(url)) return null;
  const host = url.hostname.replace(/\.$/, '').replace(www, '');
  return host.length <= maxHostLength && hostName.test(host) && isIP(host) === 0 ? host : null;
};
