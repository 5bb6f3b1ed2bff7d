const authority = /^(https?:\/\/)([^/\\?#]*)/i;
const notForHeaders = /[^\x21-\x7e]+/g;

/**
 * A destination as a `Location` header: exactly as it was stored, save for what cannot stand in a
 * header. That is percent-encoded as UTF-8; a host that is not ASCII becomes punycode.
 */
export const locationOf = (destination: string): string => {
  const asciiHost = destination.replace(authority, (whole, scheme: string, host: string) => {
    notForHeaders.lastIndex = 0;
    return notForHeaders.test(host) ? scheme + new URL(destination).host : whole;
  });
  return asciiHost.replace(notForHeaders, (text) => encodeURIComponent(text));
};
