import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { hasCode } from './errors.js';

/** A DNS server. */
export interface DnsServer {
  /** An IP address, or a name that the system resolves. */
  readonly host: string;
  readonly port: number;
}

/** No DNS server gave an answer in time. */
export class ResolverUnavailable extends Error {
  readonly code = 'RESOLVER_UNAVAILABLE';
}

export type TxtLookup = (name: string) => Promise<readonly string[]>;

/** Answers that say that the name has no TXT record, or cannot exist. */
const noRecord = ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME'];

/**
 * Looks up TXT records. Nothing is cached, because a record that was not found may be added a moment later.
 *
 * @param servers empty: those of the system
 * @returns the values; empty without a record. It rejects with ResolverUnavailable.
 */
export const txtLookup =
  (servers: readonly DnsServer[], withinMs: number): TxtLookup =>
  async (name) => {
    const resolver = new Resolver({ timeout: withinMs, tries: 1 });
    // The timeout is that of one attempt at one server.
    const timer = setTimeout(() => {
      resolver.cancel();
    }, withinMs);
    try {
      if (servers.length > 0) {
        const addresses = servers.map(async ({ host, port }) => {
          const address = isIP(host) === 0 ? (await lookup(host)).address : host;
          return `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
        });
        resolver.setServers(await Promise.all(addresses));
      }
      // A value of more than 255 bytes comes in several parts. Node decodes them as Latin-1.
      return (await resolver.resolveTxt(name)).map((parts) =>
        Buffer.from(parts.join(''), 'latin1').toString(),
      );
    } catch (error) {
      if (hasCode(error, ...noRecord)) return [];
      throw new ResolverUnavailable(`no DNS server answered for ${name}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };
