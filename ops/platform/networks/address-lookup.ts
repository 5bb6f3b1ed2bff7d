import { lookup } from 'node:dns/promises';
import { queryDns, type DnsServer } from '../dns-query.js';

export type AddressLookup = (name: string) => Promise<readonly string[]>;

/** The longest time of a look-up (ms). */
const defaultWithinMs = 5_000;

/**
 * Looks up the IPv4 and IPv6 addresses of a name.
 *
 * @param servers empty: as the system does, which also reads its hosts file
 * @returns the addresses; empty without any. It rejects with ResolverUnavailable.
 */
export const addressLookup =
  (servers: readonly DnsServer[], withinMs = defaultWithinMs): AddressLookup =>
  (name) =>
    queryDns(servers, withinMs, name, async (resolver) => {
      if (servers.length === 0) {
        return (await lookup(name, { all: true })).map(({ address }) => address);
      }
      const queries = [resolver.resolve4(name), resolver.resolve6(name)];
      const answers = await Promise.allSettled(queries);
      const addresses = answers.flatMap((answer) =>
        answer.status === 'fulfilled' ? answer.value : [],
      );
      // Some DNS servers fail for the family that a name does not have.
      return addresses.length > 0 ? addresses : (await Promise.all(queries)).flat();
    });
