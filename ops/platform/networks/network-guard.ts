import { isIP, isIPv4, type BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressLookup } from './dns.js';

/** The only block of IPv6 whose addresses IANA assigns to networks of the Internet. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** The address in canonical form; the IPv4 address of an IPv4-mapped IPv6 address. */
const canonical = (address: string): string => ipaddr.process(address).toString();

/**
 * Whether an address belongs to one host of the Internet. An IPv4-mapped IPv6 address counts as its IPv4 address. The
 * other forms that embed an IPv4 address (NAT64, 6to4, Teredo, IPv4-compatible) are not public, whatever they embed.
 */
export const isPublic = (address: string): boolean => {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.process(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast));
};

/** Whether a URL may be requested. */
export type Verdict =
  /** `addresses`: all addresses of the host, each of them allowed. */
  | { readonly type: 'allowed'; readonly addresses: readonly string[] }
  | { readonly type: 'refused'; readonly reason: string }
  /** The name has no address now. */
  | { readonly type: 'unresolved'; readonly reason: string };

/** Resolves the host of a URL. Never rejects. */
export type NetworkGuard = (url: URL) => Promise<Verdict>;

/** The host of a URL without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

const refused = (reason: string): Verdict => ({ type: 'refused', reason });

/** RFC 6761, 6.3: no DNS server is queried for these names. */
const localhost = /^(?:.+\.)?localhost\.?$/;

/** Allows https to public addresses, and https and http to the networks. @param networks `null`: none */
export const networkGuard = (lookup: AddressLookup, networks: BlockList | null): NetworkGuard => {
  // An IPv6 zone is local to this machine.
  const isNamed = (address: string): boolean =>
    !address.includes('%') && Boolean(networks?.check(address, isIPv4(address) ? 'ipv4' : 'ipv6'));

  const addressesOf = async (host: string): Promise<readonly string[]> => {
    if (isIP(host) !== 0) return [host];
    return localhost.test(host) ? ['127.0.0.1'] : lookup(host);
  };

  return async (url) => {
    const { protocol, username, password } = url;
    if (protocol !== 'https:' && (protocol !== 'http:' || !networks)) {
      return refused('only https is allowed');
    }
    if (username !== '' || password !== '')
      return refused('credentials in the URL are not allowed');
    const host = hostOf(url);
    let addresses: readonly string[];
    try {
      addresses = (await addressesOf(host)).map(canonical);
    } catch {
      // ResolverUnavailable: the result, not a failure of this process.
      return { type: 'unresolved', reason: 'no DNS server answered' };
    }
    if (addresses.length === 0) return { type: 'unresolved', reason: 'the name does not resolve' };
    if (!addresses.every((address) => isNamed(address) || isPublic(address))) {
      // Not the address of a name, which may be known only in the network of this process.
      const what = isIP(host) === 0 ? 'an address of the name' : `the address ${host}`;
      return refused(`${what} is not allowed`);
    }
    if (protocol === 'http:' && !addresses.every(isNamed)) return refused('only https is allowed');
    return { type: 'allowed', addresses };
  };
};
