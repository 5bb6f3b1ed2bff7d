/** An IPv4-mapped IPv6 address as the URL parser writes it. */
const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** The IPv4 address of an IPv4-mapped IPv6 host, in the notation of the URL parser; other hosts unchanged. */
export const unmappedHost = (host: string): string => {
  const [, high, low] = mapped.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  return [high, low]
    .map((group) => parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
};

/** The IPv4 address of an IPv4-mapped IPv6 address, in any notation; other IPv6 addresses unchanged. */
export const unmapped = (address: string): string => {
  // Every notation of the prefix contains this group.
  if (!address.includes(':ffff:')) return address;
  const host = new URL(`http://[${address}]`).hostname;
  const ipv4 = unmappedHost(host);
  return ipv4 === host ? address : ipv4;
};
