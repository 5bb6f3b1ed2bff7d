import type { InvitationEvent } from '../../schemas/events/catalogue.js';
import type { Invitation } from '../../schemas/folds/invitation.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { tableOfTerms } from './rows.js';

/** An invitation with its ID. */
export type ListedInvitation = Invitation & { readonly id: string };

const table = tableOfTerms<Invitation, never, InvitationEvent>('invitations', null, [
  ...(['role', 'email', 'tokenHash', 'expiresAt', 'createdAt'] as const),
]);

export const invitations = table.rows;

/** The pending invitations of an account, or with the hash of a token, the oldest first. Their number is bounded. */
export const readInvitations = async (
  postgres: Queryable,
  key: 'account' | 'token_hash',
  value: string,
): Promise<readonly ListedInvitation[]> => {
  const { rows } = await postgres.query<Parameters<typeof table.activeOf>[0]>(
    `SELECT ${table.columns()} FROM ledger.invitations
     WHERE ${key} = $1 AND status = 'pending' AND expires_at > clock_timestamp() ORDER BY id`,
    [value],
  );
  return rows.map((row) => ({ ...table.activeOf(row), id: row.id }));
};
