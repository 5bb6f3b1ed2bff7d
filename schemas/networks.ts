/** Addresses and CIDRs of redirect rules, at the edge and in the console. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Network {
  readonly address: Address;
  /** Bits of the prefix. */
  readonly prefix: number;
}

/** An address; an IPv4-mapped one is an IPv4 address. `null`: the text is none. */
const addressIn = (text: string): Address | null => {
  if (!text.includes(':')) {
    return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : null;
  }
  // ipaddr.js permits zones, and takes an IPv4-compatible address (RFC 4291, 2.5.5.1) for an IPv4-mapped one.
  const url = `http://[${text}]/`;
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(url)) return null;
  return ipaddr.process(new URL(url).hostname.slice(1, -1));
};

/** Bits of an IPv6 network before those of an IPv4 network that is mapped to it. */
const mappedBits = 96;

/** A network; an address is a network of one. `null`: the text is none. */
export const networkIn = (text: string): Network | null => {
  const [written = '', suffix, ...others] = text.split('/');
  const address = addressIn(written);
  if (!address || others.length > 0) return null;
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  if (suffix === undefined) return { address, prefix: bits };
  if (!/^\d{1,3}$/.test(suffix)) return null;
  const prefix = Number(suffix) - (bits === 32 && written.includes(':') ? mappedBits : 0);
  return prefix >= 0 && prefix <= bits ? { address, prefix } : null;
};

/** Remembers the last result: the rules of a link are compared with one visit after the other. */
export const ofLast = <Value>(read: (text: string) => Value): ((text: string) => Value) => {
  let last: { readonly text: string; readonly value: Value } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, value: read(text) };
    return last.value;
  };
};

const lastAddress = ofLast(addressIn);

/** By the list, which the edge caches with its link. */
const known = new WeakMap<readonly string[], readonly Network[]>();

/** Whether one of the networks has the address. Bits behind a prefix are ignored. */
export const isInNetworks = (networks: readonly string[], address: string): boolean => {
  const client = lastAddress(address);
  if (!client) return false;
  let parsed = known.get(networks);
  if (!parsed) {
    parsed = networks.flatMap((text) => networkIn(text) ?? []);
    known.set(networks, parsed);
  }
  return parsed.some(
    ({ address: network, prefix }) =>
      network.kind() === client.kind() && client.match(network, prefix),
  );
};
