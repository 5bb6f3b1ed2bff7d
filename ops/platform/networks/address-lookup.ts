import { lookup, type Resolver } from 'node:dns/promises';
import { queryDns, type DnsServer } from '../dns-query.js';

export type AddressLookup = (name: string) => Promise<readonly string[]>;

/** The longest time of a look-up (ms). */
const defaultWithinMs = 5_000;

const queryAddresses = async (resolver: Resolver, name: string): Promise<readonly string[]> => {
  const queries = [resolver.resolve4(name), resolver.resolve6(name)];
  const answers = await Promise.allSettled(queries);
  const addresses = answers.flatMap((answer) =>
    answer.status === 'fulfilled' ? answer.value : [],
  );
  // Some DNS servers fail for the family that a name does not have.
  return addresses.length > 0 ? addresses : (await Promise.all(queries)).flat();
};

/**
 * Looks up the IPv4 and IPv6 addresses of a name.
 *
 * @param servers empty: those of the system, and then its hosts file
 * @returns the addresses; empty without any. It rejects with ResolverUnavailable.
 */
export const addressLookup =
  (servers: readonly DnsServer[], withinMs = defaultWithinMs): AddressLookup =>
  async (name) => {
    const addresses = await queryDns(servers, withinMs, name, (resolver) =>
      queryAddresses(resolver, name),
    );
    if (addresses.length > 0 || servers.length > 0) return addresses;
    // Not first: `lookup` blocks one of four threads, so silent DNS servers of one name would delay all others.
    return queryDns(servers, withinMs, name, async () =>
      (await lookup(name, { all: true })).map(({ address }) => address),
    );
  };
