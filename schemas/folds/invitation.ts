import type { EventNamed, InvitationEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';

export interface Invitation extends Readonly<EventNamed<'InvitationCreated'>['data']> {
  readonly status: 'pending' | 'accepted' | 'withdrawn';
  readonly account: string;
  readonly createdAt: string;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export type InvitationState =
  { readonly status: 'none'; readonly sequence: 0; readonly lastEventAt: Date } | Invitation;

export const noInvitation: InvitationState = {
  ...{ status: 'none', sequence: 0, lastEventAt: new Date(0) },
};

export const evolveInvitation = (
  state: InvitationState,
  event: InvitationEvent,
): InvitationState => {
  const next = { sequence: event.sequence, lastEventAt: new Date(event.time) };
  if (event.type === 'linklog.InvitationCreated.v1') {
    const { account = '', time: createdAt } = event;
    return { ...event.data, ...next, status: 'pending', account, createdAt };
  }
  if (state.status === 'none') return state;
  switch (event.type) {
    case 'linklog.InvitationAccepted.v1':
      return { ...state, ...next, status: 'accepted' };
    case 'linklog.InvitationWithdrawn.v1':
      return { ...state, ...next, status: 'withdrawn' };
    default:
      return unknownEvent(event, 'invitation');
  }
};
