/** Where one of our listeners can be reached. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];
const localNames = new Set([...loopback, '0.0.0.0', '[::]']);

const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

const hostOf = (url: URL): string => url.hostname.replace(/\.$/, '').toLowerCase();

/** A bind address as a URL would write it: lower case, IPv6 in brackets and in its shortest form. */
const listenerHost = (address: string): string => {
  const host = address.includes(':') ? `[${address}]` : address;
  // A zone (`fe80::1%eth0`) cannot stand in a URL, so no destination can name such an address.
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host;
};

/**
 * Tells destinations that would lead back to us: host and port of the short links (the default port
 * of either scheme, where they name none) and of our listeners.
 */
export const ownHosts = (
  shortUrlHost: string,
  listeners: readonly OwnAddress[],
): ((destination: URL) => boolean) => {
  const own = new Set<string>();
  const short = new URL(shortUrlHost);
  const shortPorts = short.port === '' ? [80, 443] : [Number(short.port)];
  for (const port of shortPorts) own.add(`${hostOf(short)}:${port}`);
  for (const { host, port } of listeners) {
    const name = listenerHost(host);
    const names = localNames.has(name) ? loopback : [];
    for (const ownName of [name, ...names]) own.add(`${ownName}:${port}`);
  }
  return (destination) => own.has(`${hostOf(destination)}:${portOf(destination)}`);
};
