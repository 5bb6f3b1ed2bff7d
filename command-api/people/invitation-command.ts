import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { InvitationEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { evolveInvitation, type InvitationState } from '../../schemas/folds/invitation.js';
import { noSubject } from '../../schemas/folds/subject-state.js';
import type { Role } from '../../schemas/roles.js';

/** Pending invitations of an account. */
export const maxInvitations = 100;
/** How long an invitation is valid (ms). */
const lifeMs = 7 * 24 * 3_600_000;

/** The subject is the invitation's ID. `pending`: the pending invitations of the account. */
export type InvitationCommand =
  | Command<
      'Invite',
      {
        readonly account: string;
        readonly role: Role;
        readonly email: string | null;
        readonly tokenHash: string;
        readonly pending: number;
      }
    >
  | Command<'Accept', { readonly person: string }>
  | Command<'Withdraw', { readonly account: string }>;

export interface InvitationRefusal {
  readonly type: 'notFound' | 'tooManyInvitations';
}

export const invitationDecider: Decider<
  InvitationCommand,
  InvitationEvent,
  InvitationState,
  InvitationRefusal
> = {
  initialState: noSubject,
  evolve: evolveInvitation,
  decide({ type, subject, data, metadata }, state) {
    const next = nextEvent(state, metadata);
    if (type === 'Invite') {
      const { account, role, email, tokenHash, pending } = data;
      if (pending >= maxInvitations) return refused({ type: 'tooManyInvitations' });
      const expiresAt = new Date(next.time.getTime() + lifeMs).toISOString();
      const invited = { role, email, tokenHash, expiresAt };
      return accepted(newEvent('InvitationCreated', invited, { ...next, subject, account }));
    }
    if (state.status !== 'pending' || Date.parse(state.expiresAt) <= metadata.now.getTime()) {
      return refused({ type: 'notFound' });
    }
    const { account } = state;
    const attributes = { ...next, subject, account };
    if (type === 'Accept') return accepted(newEvent('InvitationAccepted', data, attributes));
    return data.account === account
      ? accepted(newEvent('InvitationWithdrawn', {}, attributes))
      : refused({ type: 'notFound' });
  },
};
