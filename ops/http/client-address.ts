import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP, isIPv4, type BlockList, type Socket } from 'node:net';
import { unmapped } from './mapped-address.js';

/** `192.0.2.1:4711` and `[2001:db8::1]:4711`, as some proxies write them. */
const withPort = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;
/** RFC 7239 quotes addresses with a port or in brackets, and some proxies do so here. */
const quoted = /^"(.*)"$/s;

/** An address in its canonical form: an IPv4-mapped IPv6 address is the IPv4 address. */
const addressIn = (text: string): string | null => {
  // Most are: the rest is for those that are not.
  if (isIPv4(text)) return text;
  const unquoted = text.trim().replace(quoted, '$1').trim();
  const match = withPort.exec(unquoted);
  const address = (match?.[1] ?? match?.[2] ?? unquoted).replace(/%.*$/s, '').toLowerCase();
  if (isIPv4(address)) return address;
  return isIP(address) === 0 ? null : unmapped(address);
};

/** Whether an address is a proxy's, which is believed who its client is. */
export type ProxyTrust = (address: string) => boolean;

export const trustNone: ProxyTrust = () => false;

const maxKnown = 1_000;

/**
 * Trusts the addresses in the blocks. There are few proxies, so what was asked is known from then on:
 * each look into a `BlockList` makes a native object, and a flood of those prolongs garbage collection.
 */
export const trustIn = (blocks: BlockList): ProxyTrust => {
  const known = new Map<string, boolean>();
  return (address) => {
    const before = known.get(address);
    if (before !== undefined) return before;
    const trusted = blocks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    if (known.size >= maxKnown) known.clear();
    known.set(address, trusted);
    return trusted;
  };
};

/** The address at the other end; empty where it is gone already. */
export const addressOf = (socket: Socket): string => addressIn(socket.remoteAddress ?? '') ?? '';

/**
 * The last address in an `X-Forwarded-For` header that is no trusted proxy's; where all are, the first of them.
 * What stands before it was written by strangers. Empty elements are ignored (RFC 9110, 5.6.1). `null` where it ends
 * with something else than an address.
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
 * The `X-Forwarded-For` header of a request that came from a trusted proxy; `null` where there is none, or it is
 * empty. `peer`: see `addressOf`.
 */
export const trustedHeader = (
  { 'x-forwarded-for': header }: IncomingHttpHeaders,
  peer: string,
  isTrusted: ProxyTrust,
): string | null =>
  typeof header === 'string' && header !== '' && peer !== '' && isTrusted(peer) ? header : null;

/** The client's address: what a trusted proxy tells, or where there is none, the other end's. */
export const clientAddress = (
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: ProxyTrust,
): string => {
  const peer = addressOf(socket);
  const header = trustedHeader(headers, peer, isTrusted);
  return (header === null ? null : forwardedFor(header, isTrusted)) ?? peer;
};

/** The eight groups of an IPv6 address as the URL parser writes it: `[2001:db8::1]`. */
const groupsOf = (address: string): string[] => {
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const before = head === '' ? [] : head.split(':');
  if (tail === undefined) return before;
  const after = tail === '' ? [] : tail.split(':');
  const gap = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...gap, ...after];
};

/** Four groups as the URL parser writes them, which most addresses begin with. */
const fourGroups = /^(?:(?:0|[1-9a-f][0-9a-f]{0,3}):){4}/;

/** Who a client is to a throttle: an IPv4 address, or the /64 of an IPv6 one, which is one line. */
export const networkOf = (address: string): string => {
  if (!address.includes(':')) return address;
  const line = fourGroups.exec(address)?.[0] ?? `${groupsOf(address).slice(0, 4).join(':')}:`;
  return `${line}:/64`;
};
