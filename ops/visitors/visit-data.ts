import { isIP } from 'node:net';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { maxHostLength, parseUrl } from '../../schemas/parse-url.js';
import { BoundedMap } from '../platform/collections.js';

/** The data of a visit, with or without a limit of clicks: no address, and no free text of a user agent. */
export type VisitData = Omit<EventNamed<'LinkVisited'>['data'], 'click'>;

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

/** The longest text in the cache (characters). Longer texts are rare, and would take much memory. */
const maxLength = 512;

/** Caches the results of a pure function for the newest short texts. */
export const memoize = <Value extends object | string | null>(
  compute: (text: string) => Value,
  maxTexts = 2_000,
): ((text: string) => Value) => {
  const known = new BoundedMap<string, Value>(maxTexts);
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const value = compute(text);
    if (text.length <= maxLength) known.set(text, value);
    return value;
  };
};
