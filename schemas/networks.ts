/** Addresses and CIDRs of redirect rules, at the edge and in the console. */
import ipaddr from 'ipaddr.js';

type Network = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number];

/** Without octal and short forms, which programs read differently. */
const plainAddress = /^(?:(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}|[\da-f:]*:[\da-f:.]*)$/i;

/** Bits of an IPv6 network before those of an IPv4 network that is mapped to it. */
const mappedBits = 96;

/** An address; an IPv4-mapped one is an IPv4 address. `null`: the text is none. */
export const addressIn = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | null =>
  plainAddress.test(text) && ipaddr.isValid(text) ? ipaddr.process(text) : null;

/** A network; an address is a network of one. `null`: the text is none. */
export const networkIn = (text: string): Network | null => {
  const [, address = '', suffix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = addressIn(address);
  if (!parsed) return null;
  const bits = parsed.kind() === 'ipv4' ? 32 : 128;
  const isMapped = bits === 32 && address.includes(':');
  const prefix = suffix === undefined ? bits : Number(suffix) - (isMapped ? mappedBits : 0);
  return prefix >= 0 && prefix <= bits ? [parsed, prefix] : null;
};

/** By the list, which the edge caches with its link. */
const known = new WeakMap<readonly string[], readonly Network[]>();

/** Whether one of the networks has the address. Bits behind a prefix are ignored. */
export const isInNetworks = (networks: readonly string[], address: string): boolean => {
  const client = addressIn(address);
  if (!client) return false;
  let parsed = known.get(networks);
  if (!parsed) {
    parsed = networks.flatMap((text) => {
      const network = networkIn(text);
      return network ? [network] : [];
    });
    known.set(networks, parsed);
  }
  return parsed.some(
    ([network, prefix]) => network.kind() === client.kind() && client.match(network, prefix),
  );
};
