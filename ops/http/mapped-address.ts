/** An IPv4-mapped IPv6 address as the URL parser writes it. */
const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** The IPv4 address of an IPv4-mapped IPv6 one, which the URL parser has written; any other host as it is. */
export const unmappedHost = (host: string): string => {
  const [, high, low] = mapped.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  return [high, low]
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
};

/** The IPv4 address of an IPv4-mapped IPv6 one, in any notation; any other IPv6 address as it is. */
export const unmapped = (address: string): string => {
  // No other notation of the prefix leaves this group out.
  if (!address.includes(':ffff:')) return address;
  const host = new URL(`http://[${address}]`).hostname;
  const found = unmappedHost(host);
  return found === host ? address : found;
};
