import type { ShareEvent } from '../../schemas/events/catalogue.js';
import type { Share, ShareState } from '../../schemas/folds/share.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { upsert, type LedgerRows } from './decide.js';

/** A row of `ledger.shares`. If the share was ended, the columns of its terms are `null`. */
interface ShareRow extends Omit<Share, 'status' | 'createdAt' | 'expiresAt'> {
  readonly id: string;
  readonly status: 'shared' | 'ended';
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const columns = `id, account, status, link, token_hash AS "tokenHash", expires_at AS "expiresAt",
  password_hash AS "passwordHash", show_destination AS "showDestination", created_at AS "createdAt",
  sequence, last_event_at AS "lastEventAt"`;

const shareOfRow = (row: ShareRow): Share => {
  const { account, link, tokenHash, passwordHash, showDestination, sequence, lastEventAt } = row;
  return {
    ...{ account, status: 'shared', link, tokenHash, passwordHash, showDestination },
    ...{ sequence, lastEventAt, createdAt: row.createdAt.toISOString() },
    expiresAt: row.expiresAt?.toISOString() ?? null,
  };
};

const stateOfRow = (row: ShareRow): ShareState => {
  const { account, status, sequence, lastEventAt } = row;
  return status === 'ended' ? { account, status, sequence, lastEventAt } : shareOfRow(row);
};

export const shares: LedgerRows<ShareState, ShareEvent> = {
  /** Locks the table against the few other writers, because the number of shares of a link is limited. */
  async lock(tx, ids, schema = 'ledger') {
    await tx.query(`LOCK TABLE ${schema}.shares IN SHARE ROW EXCLUSIVE MODE`);
    const { rows } = await tx.query<ShareRow>(
      `SELECT ${columns} FROM ${schema}.shares WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, stateOfRow(row)]));
  },
  save: (states, schema = 'ledger') =>
    [...states].flatMap(([id, state]) => {
      if (state.status === 'none') return [];
      const { account, status, sequence } = state;
      const share = status === 'shared' ? state : null;
      const terms = {
        ...{ link: share?.link, token_hash: share?.tokenHash, expires_at: share?.expiresAt },
        ...{ password_hash: share?.passwordHash, show_destination: share?.showDestination },
        created_at: share?.createdAt,
      };
      const row = { id, account, status, ...terms, sequence, last_event_at: state.lastEventAt };
      return upsert(`${schema}.shares`, 'id', row);
    }),
};

/** The shares of a link, or with a token, by ID, that have not ended or expired, the oldest first. */
export const readShares = async (
  postgres: Queryable,
  key: 'link' | 'token_hash',
  value: string,
): Promise<ReadonlyMap<string, Share>> => {
  const { rows } = await postgres.query<ShareRow>({
    name: `shares-by-${key}`,
    text: `SELECT ${columns} FROM ledger.shares
           WHERE ${key} = $1 AND status = 'shared' AND (expires_at IS NULL OR expires_at > clock_timestamp())
           ORDER BY created_at, id`,
    values: [value],
  });
  return new Map(rows.map((row) => [row.id, shareOfRow(row)]));
};
