import { createHmac } from 'node:crypto';
import type { Queryable } from '../../ops/platform/postgres/pool.js';

/** 128 bits: enough that no two clients of a link meet. */
const hashBytes = 16;

export interface ClientHash {
  /** A client as the ledger may know it: at this link and at no other. */
  of(code: string, network: string): Promise<Buffer>;
}

/** Hashes with the installation's key, which is read at the first use and never changes. */
export const createClientHash = (postgres: Queryable): ClientHash => {
  let key: Buffer | null = null;
  const readKey = async (): Promise<Buffer> => {
    const { rows } = await postgres.query<{ key: Buffer }>(
      'SELECT key FROM ledger.client_hash_key',
    );
    const found = rows[0]?.key;
    if (!found) throw new Error('The ledger has no key for hashes of clients');
    return found;
  };
  return {
    async of(code, network) {
      key ??= await readKey();
      // A code has no space in it, so no two pairs are the same text.
      return createHmac('sha256', key).update(`${code} ${network}`).digest().subarray(0, hashBytes);
    },
  };
};
