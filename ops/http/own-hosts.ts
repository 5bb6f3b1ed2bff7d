import { parseUrl } from '../../schemas/parse-url.js';
import { unmappedHost } from './mapped-address.js';

/** Where one of our listeners can be reached. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** Names of this machine; to connect to an address that means "any" is to connect to it as well. */
const loopback = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'];
const localNames = new Set(loopback);

const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

const hostOf = (url: URL): string => {
  const host = unmappedHost(url.hostname.replace(/\.$/, '').toLowerCase());
  // RFC 6761: all names below it lead where it leads.
  return host.endsWith('.localhost') ? 'localhost' : host;
};

/** A bind address as a URL would write it: lower case, IPv6 in brackets and in its shortest form. */
const listenerHost = (address: string): string => {
  const host = address.includes(':') ? `[${address}]` : address;
  // A zone (`fe80::1%eth0`) cannot stand in a URL, so no destination can name such an address.
  return parseUrl(`http://${host}`)?.hostname ?? host;
};

/**
 * Tells destinations that would lead back to us: host and port of our URLs, such as that of the short
 * links (the default port of either scheme, where they name none), and of our listeners.
 */
export const ownHosts = (
  urls: readonly string[],
  listeners: readonly OwnAddress[],
): ((destination: URL) => boolean) => {
  const own = new Set<string>();
  const add = (name: string, port: number): void => {
    const names = localNames.has(name) ? loopback : [name];
    for (const ownName of names) own.add(`${ownName}:${port}`);
  };
  for (const url of urls.map((text) => new URL(text))) {
    const ports = url.port === '' ? [80, 443] : [Number(url.port)];
    for (const port of ports) add(hostOf(url), port);
  }
  for (const { host, port } of listeners) add(listenerHost(host), port);
  return (destination) => own.has(`${hostOf(destination)}:${portOf(destination)}`);
};
