import type { ShareEvent } from '../../schemas/events/catalogue.js';
import type { EndedShare, Share } from '../../schemas/folds/share.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { tableOfTerms } from './rows.js';

const table = tableOfTerms<Share, EndedShare, ShareEvent>('shares', 'ended', [
  ...(['link', 'tokenHash', 'expiresAt', 'passwordHash', 'showDestination', 'createdAt'] as const),
]);

export const shares = table.rows;

/** The shares of a link, or with a token, by ID, that have not ended or expired, the oldest first. */
export const readShares = async (
  postgres: Queryable,
  key: 'link' | 'token_hash',
  value: string,
): Promise<ReadonlyMap<string, Share>> => {
  const { rows } = await postgres.query<Parameters<typeof table.activeOf>[0]>({
    name: `shares-by-${key}`,
    text: `SELECT ${table.columns()} FROM ledger.shares
           WHERE ${key} = $1 AND status = 'shared' AND (expires_at IS NULL OR expires_at > clock_timestamp())
           ORDER BY created_at, id`,
    values: [value],
  });
  return new Map(rows.map((row) => [row.id, table.activeOf(row)]));
};
