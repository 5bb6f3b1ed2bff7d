/** Addresses and CIDRs of redirect rules, at the edge and in the console. */

/** The 16-bit groups of an address: two of IPv4, eight of IPv6. */
type Groups = readonly number[];

interface Network {
  readonly groups: Groups;
  /** Bits of the prefix. */
  readonly prefix: number;
}

/**
 * The groups of an IPv6 address without an IPv4 address at its end; `null` for another text. ipaddr.js takes 7 µs, and a
 * link may have 1,000 networks.
 */
const readGroups = (text: string): number[] | null => {
  const parts = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const [before = [], after = [], ...others] = parts;
  const words = [...before, ...after];
  if (others.length > 0 || !words.every((word) => /^[\da-f]{1,4}$/i.test(word))) return null;
  const missing = 8 - words.length;
  if (parts.length === 1 ? missing !== 0 : missing < 1) return null;
  const zeros = new Array<string>(missing).fill('0');
  return [...before, ...zeros, ...after].map((word) => parseInt(word, 16));
};

const dotted = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

const readDotted = (text: string): Groups | null => {
  const [, ...bytes] = dotted.exec(text) ?? [];
  const [a = 256, b = 256, c = 256, d = 256] = bytes.map(Number);
  return Math.max(a, b, c, d) > 255 ? null : [a * 256 + b, c * 256 + d];
};

const isMapped = (groups: Groups): boolean =>
  groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);

/** An address; an IPv4-mapped one is an IPv4 address. `null`: the text is none. */
const addressIn = (text: string): Groups | null => {
  const tail = text.lastIndexOf(':') + 1;
  const end = text.includes('.') ? readDotted(text.slice(tail)) : [];
  if (tail === 0 || !end) return end?.length === 2 ? end : null;
  const hexadecimal = end.map((group) => group.toString(16)).join(':');
  const groups = readGroups(end.length === 2 ? text.slice(0, tail) + hexadecimal : text);
  return groups && isMapped(groups) ? groups.slice(6) : groups;
};

/** Bits of an IPv6 network before those of an IPv4 network that is mapped to it. */
const mappedBits = 96;

/** A network; an address is a network of one. `null`: the text is none. */
export const networkIn = (text: string): Network | null => {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const groups = addressIn(address);
  if (!groups) return null;
  const bits = groups.length * 16;
  if (slash < 0) return { groups, prefix: bits };
  const suffix = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(suffix)) return null;
  const prefix = Number(suffix) - (bits === 32 && address.includes(':') ? mappedBits : 0);
  return prefix >= 0 && prefix <= bits ? { groups, prefix } : null;
};

const has = ({ groups, prefix }: Network, address: Groups): boolean => {
  if (groups.length !== address.length) return false;
  const whole = prefix >> 4;
  for (let at = 0; at < whole; at += 1) if (groups[at] !== address[at]) return false;
  const rest = 16 - (prefix & 15);
  return rest === 16 || (groups[whole] ?? 0) >> rest === (address[whole] ?? 0) >> rest;
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
  return parsed.some((network) => has(network, client));
};
