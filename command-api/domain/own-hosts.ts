/** Where one of our listeners can be reached. */
export interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];
const localNames = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0', '::']);

const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

const hostOf = (url: URL): string => url.hostname.replace(/\.$/, '').toLowerCase();

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

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
    const names = localNames.has(host) ? loopback : [];
    for (const name of [bracketed(host).toLowerCase(), ...names]) own.add(`${name}:${port}`);
  }
  return (destination) => own.has(`${hostOf(destination)}:${portOf(destination)}`);
};
