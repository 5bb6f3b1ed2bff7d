import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { withinDeadline } from './concurrency/deadline.js';
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
export const queryDns = async <DnsRecord>(
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
