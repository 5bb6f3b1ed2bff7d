import type { InvitationEvent } from '../../schemas/events/catalogue.js';
import type { Invitation, InvitationState } from '../../schemas/folds/invitation.js';
import type { Queryable } from '../platform/postgres/pool.js';
import type { LedgerRows } from './decide.js';
import { upsert } from './rows.js';

interface InvitationRow extends Omit<Invitation, 'createdAt' | 'expiresAt'> {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** An invitation with its ID. */
export type ListedInvitation = Invitation & { readonly id: string };

const columns = `id, account, status, role, email, token_hash AS "tokenHash", expires_at AS "expiresAt",
  created_at AS "createdAt", sequence, last_event_at AS "lastEventAt"`;

const invitationOfRow = ({ createdAt, expiresAt, ...row }: InvitationRow): ListedInvitation => ({
  ...row,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
});

export const invitations: LedgerRows<InvitationState, InvitationEvent> = {
  async lock(tx, ids, schema = 'ledger') {
    const { rows } = await tx.query<InvitationRow>(
      `SELECT ${columns} FROM ${schema}.invitations WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
      [ids],
    );
    return new Map(
      rows.map(invitationOfRow).map(({ id, ...invitation }) => [id, invitation] as const),
    );
  },
  save: (states, schema = 'ledger') =>
    [...states].flatMap(([id, state]) => {
      if (state.status === 'none') return [];
      const { account, status, role, email, tokenHash, expiresAt, createdAt, sequence } = state;
      const row = {
        ...{ id, account, status, role, email, token_hash: tokenHash, expires_at: expiresAt },
        ...{ created_at: createdAt, sequence, last_event_at: state.lastEventAt },
      };
      return upsert(`${schema}.invitations`, 'id', row);
    }),
};

const isPending = `status = 'pending' AND expires_at > clock_timestamp()`;

/** The pending invitation with a token. @param tokenHash SHA-256, in base64url */
export const findInvitation = async (
  postgres: Queryable,
  tokenHash: string,
): Promise<ListedInvitation | null> => {
  const { rows } = await postgres.query<InvitationRow>(
    `SELECT ${columns} FROM ledger.invitations WHERE token_hash = $1 AND ${isPending}`,
    [tokenHash],
  );
  return rows[0] ? invitationOfRow(rows[0]) : null;
};

/** The pending invitations of an account, the oldest first. Their number is bounded. */
export const listInvitations = async (
  postgres: Queryable,
  account: string,
): Promise<readonly ListedInvitation[]> => {
  const { rows } = await postgres.query<InvitationRow>(
    `SELECT ${columns} FROM ledger.invitations WHERE account = $1 AND ${isPending} ORDER BY id`,
    [account],
  );
  return rows.map(invitationOfRow);
};
