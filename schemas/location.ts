import { parseDestination } from './parse-url.js';

const authority = /^(https?:\/\/)([^/\\?#]*)/i;
const notForHeaders = /[^\x21-\x7e]+/g;

/**
 * A destination as the value of a `Location` header: exactly as it was stored, except that characters that a header
 * cannot contain are percent-encoded as UTF-8, and a host that is not ASCII becomes punycode.
 */
export const locationOf = (destination: string): string => {
  const asciiHost = destination.replace(authority, (whole, scheme: string, host: string) => {
    notForHeaders.lastIndex = 0;
    return notForHeaders.test(host) ? scheme + parseDestination(destination).host : whole;
  });
  return asciiHost.replace(notForHeaders, (text) => encodeURIComponent(text));
};
