import { newEvent } from '../../schemas/events/codec.js';
import {
  at,
  invitationAccepted,
  invitationCreated,
  invitationWithdrawn,
  someInvitation,
} from '../../schemas/testing/events.js';
import { commandMetadata, metadataOfEvent, specify } from '../testing/decisions.js';
import { invitationDecider, maxInvitations } from './invitation-command.js';

const subject = 'invitation-1';
const { accepts, refuses } = specify(subject, invitationDecider);

const metadata = (sequence: number) => ({
  ...{ ...metadataOfEvent(), sequence, subject, account: 'acme' },
});
const { role, email, tokenHash } = someInvitation;
const invite = (pending: number) => ({
  ...{ type: 'Invite' as const, account: 'acme', role, email, tokenHash, pending },
});
const accept = { type: 'Accept', person: 'usr_6hQz1mV0bT8kXw2RfL4d' } as const;
const withdraw = (account = 'acme') => ({ type: 'Withdraw', account }) as const;
const pending = [invitationCreated(subject, {}, { time: at(0) })];
const ended = [
  [...pending, invitationAccepted(subject, 2, { person: 'usr_1' }, { time: at(1) })],
  [...pending, invitationWithdrawn(subject, 2, { time: at(1) })],
];
/** A history with an invitation that ends at a time. */
const endingAt = (seconds: number) => [
  invitationCreated(subject, { expiresAt: at(seconds).toISOString() }, { time: at(0) }),
];

describe('people: invitations', () => {
  it('are valid for 7 days', () => {
    const expiresAt = at(10 + 7 * 86_400).toISOString();
    const event = newEvent('InvitationCreated', { role, email, tokenHash, expiresAt }, metadata(1));
    accepts([], invite(0), event);
    accepts([], invite(maxInvitations - 1), event);
  });

  it('are refused while the account has 100 pending ones', () => {
    for (const count of [100, 101]) refuses([], invite(count), 'tooManyInvitations');
  });

  it('are accepted once', () => {
    accepts(
      pending,
      accept,
      newEvent('InvitationAccepted', { person: accept.person }, metadata(2)),
    );
    for (const history of ended) refuses(history, accept, 'notFound');
  });

  it('are withdrawn once, and only by their account', () => {
    accepts(pending, withdraw(), newEvent('InvitationWithdrawn', {}, metadata(2)));
    for (const history of ended) refuses(history, withdraw(), 'notFound');
    for (const account of ['shop', '']) refuses(pending, withdraw(account), 'notFound');
  });

  it('cannot be accepted or withdrawn from their end on', () => {
    const now = commandMetadata.now.getTime() - at(0).getTime();
    for (const command of [accept, withdraw()]) {
      refuses(endingAt(now / 1_000), command, 'notFound');
      refuses(endingAt(1), command, 'notFound');
    }
    const event = newEvent('InvitationAccepted', { person: accept.person }, metadata(2));
    accepts(endingAt(now / 1_000 + 0.001), accept, event);
  });

  it('are unknown before they are created', () => {
    refuses([], accept, 'notFound');
    refuses([], withdraw(), 'notFound');
  });
});
