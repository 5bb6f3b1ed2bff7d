import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isIP, isIPv4, type BlockList, type Socket } from 'node:net';

/** The IPv4 address of an IPv4-mapped IPv6 address, in any notation; other IPv6 addresses unchanged. */
const unmapped = (address: string): string => {
  // Every notation of the prefix contains this group.
  if (!address.includes(':ffff:')) return address;
  const processed = ipaddr.process(address);
  return processed.kind() === 'ipv4' ? processed.toString() : address;
};

/** The IPv4 address of an IPv4-mapped IPv6 host, in the notation of the URL parser; other hosts unchanged. */
export const unmappedHost = (host: string): string => {
  if (!host.startsWith('[')) return host;
  const address = host.slice(1, -1);
  const ipv4 = unmapped(address);
  return ipv4 === address ? host : ipv4;
};

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`, as some proxies write them. */
const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;
/** Some proxies quote addresses with a port or in brackets, as in RFC 7239. */
const quoted = /^"(.*)"$/s;

/** An address in canonical form; IPv4-mapped IPv6 addresses become IPv4 addresses. */
const addressIn = (text: string): string | null => {
  // The usual case.
  if (isIPv4(text)) return text;
  const unquoted = text.trim().replace(quoted, '$1').trim();
  const match = withPort.exec(unquoted);
  const address = (match?.[1] ?? match?.[2] ?? unquoted).replace(/%.*$/s, '').toLowerCase();
  if (isIPv4(address)) return address;
  return isIP(address) === 0 ? null : unmapped(address);
};

export type ProxyTrust = (address: string) => boolean;

export const trustNone: ProxyTrust = () => false;

const maxCached = 1_000;

/** Trusts the addresses in the blocks. The cache is for speed: `BlockList.check` allocates a native object. */
export const trustIn = (blocks: BlockList): ProxyTrust => {
  const cache = new Map<string, boolean>();
  return (address) => {
    const cached = cache.get(address);
    if (cached !== undefined) return cached;
    const trusted = blocks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    if (cache.size >= maxCached) cache.clear();
    cache.set(address, trusted);
    return trusted;
  };
};

/** The remote address; empty if the connection is closed. */
export const addressOf = (socket: Socket): string => addressIn(socket.remoteAddress ?? '') ?? '';

/**
 * The last address in an `X-Forwarded-For` header that is not a trusted proxy, or the first address if all are. Clients
 * can forge the elements before it. Empty elements are ignored (RFC 9110, 5.6.1). `null` if the last element is not an
 * address.
 */
export const forwardedFor = (header: string, isTrusted: ProxyTrust): string | null => {
  let client: string | null = null;
  for (const hop of header.split(',').reverse()) {
    if (hop.trim() === '') continue;
    const address = addressIn(hop);
    if (address === null) break;
    client = address;
    if (!isTrusted(client)) break;
  }
  return client;
};

/**
 * The `X-Forwarded-For` header if a trusted proxy sent it; `null` if there is none or it is empty.
 *
 * @param peer the result of `addressOf`
 */
export const trustedHeader = (
  { 'x-forwarded-for': header }: IncomingHttpHeaders,
  peer: string,
  isTrusted: ProxyTrust,
): string | null =>
  typeof header === 'string' && header !== '' && peer !== '' && isTrusted(peer) ? header : null;

/** The client's address: from a trusted proxy's header, else the remote address. */
export const clientAddress = (
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: ProxyTrust,
): string => {
  const peer = addressOf(socket);
  const header = trustedHeader(headers, peer, isTrusted);
  return (header === null ? null : forwardedFor(header, isTrusted)) ?? peer;
};

const firstGroups = (address: string): readonly string[] =>
  ipaddr.IPv6.parse(address)
    .parts.slice(0, 4)
    .map((group) => group.toString(16));

/** Four groups as the URL parser writes them: the start of most addresses. */
const fourGroups = /^(?:(?:0|[1-9a-f][0-9a-f]{0,3}):){4}/;

/** The key of a client in throttles: an IPv4 address, or the /64 of an IPv6 address, which is one subscriber line. */
export const networkOf = (address: string): string => {
  if (!address.includes(':')) return address;
  const prefix = fourGroups.exec(address)?.[0] ?? `${firstGroups(address).join(':')}:`;
  return `${prefix}:/64`;
};
