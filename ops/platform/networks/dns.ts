import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { withinDeadline } from '../concurrency/deadline.js';
import { hasCode } from '../errors.js';

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

/** Answers that say that the name has no such record, or cannot exist. */
const noRecord = ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME'];

const socketAddress = async ({ host, port }: DnsServer): Promise<string> => {
  const address = isIP(host) === 0 ? (await lookup(host)).address : host;
  return `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
};

/**
 * Looks up records of a name. Nothing is cached.
 *
 * @param servers empty: those of the system
 * @returns the records; empty without any. It rejects with ResolverUnavailable.
 */
const queryDns = async <DnsRecord>(
  servers: readonly DnsServer[],
  withinMs: number,
  name: string,
  query: (resolver: Resolver) => Promise<readonly DnsRecord[]>,
): Promise<readonly DnsRecord[]> => {
  // `timeout` is that of one try at one server; the second try takes twice as long.
  const resolver = new Resolver({ timeout: Math.ceil(withinMs / 3), tries: 2 });
  try {
    return await withinDeadline(withinMs, async () => {
      if (servers.length > 0) resolver.setServers(await Promise.all(servers.map(socketAddress)));
      return query(resolver);
    });
  } catch (error) {
    if (hasCode(error, ...noRecord)) return [];
    throw new ResolverUnavailable(`no DNS server answered for ${name}`, { cause: error });
  } finally {
    resolver.cancel();
  }
};

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

export type TxtLookup = (name: string) => Promise<readonly string[]>;

/**
 * Looks up TXT records. Nothing is cached, because a record that was not found may be added a moment later.
 *
 * @param servers empty: those of the system
 * @returns the values; empty without a record. It rejects with ResolverUnavailable.
 */
export const txtLookup =
  (servers: readonly DnsServer[], withinMs: number): TxtLookup =>
  (name) =>
    queryDns(servers, withinMs, name, async (resolver) =>
      // A value of more than 255 bytes comes in several parts. Node decodes them as Latin-1.
      (await resolver.resolveTxt(name)).map((parts) =>
        Buffer.from(parts.join(''), 'latin1').toString(),
      ),
    );
