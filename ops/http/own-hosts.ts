import { parseUrl } from '../../schemas/parse-url.js';
import { unmappedHost } from './client-address.js';

interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** Names of this machine. A connection to a wildcard address reaches it, too. */
const loopback = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'];
const localNames = new Set(loopback);

const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

const hostOf = (url: URL): string => {
  const host = unmappedHost(url.hostname.replace(/\.$/, '').toLowerCase());
  // RFC 6761: its subdomains resolve to the same address.
  return host.endsWith('.localhost') ? 'localhost' : host;
};

/** A bind address as in a URL: lower case, IPv6 in brackets and in its shortest form. */
const listenerHost = (address: string): string => {
  const host = address.includes(':') ? `[${address}]` : address;
  // A URL cannot contain a zone (`fe80::1%eth0`), so no destination has such an address.
  return parseUrl(`http://${host}`)?.hostname ?? host;
};

/**
 * Detects destinations that lead to our own URLs, such as that of the short links, or to our listeners. A URL without a
 * port has the default ports of both schemes.
 *
 * @param isDomain whether a name is a domain with short links. It has the default ports, and those of the listeners.
 */
export const ownHosts = (
  urls: readonly string[],
  listeners: readonly OwnAddress[],
  isDomain: (name: string) => boolean = () => false,
): ((destination: URL) => boolean) => {
  const own = new Set<string>();
  const add = (name: string, port: number): void => {
    const names = localNames.has(name) ? loopback : [name];
    for (const alias of names) own.add(`${alias}:${port}`);
  };
  for (const url of urls.map((text) => new URL(text))) {
    const ports = url.port === '' ? [80, 443] : [Number(url.port)];
    for (const port of ports) add(hostOf(url), port);
  }
  for (const { host, port } of listeners) add(listenerHost(host), port);
  const domainPorts = new Set([80, 443, ...listeners.map(({ port }) => port)]);
  return (destination) => {
    const host = hostOf(destination);
    const port = portOf(destination);
    return own.has(`${host}:${port}`) || (domainPorts.has(port) && isDomain(host));
  };
};
