import { queryDns, type DnsServer } from './dns-query.js';

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
