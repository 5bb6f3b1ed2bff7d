import type { EventNamed, InvitationEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { None, Remains } from './subject-state.js';

type Terms = Readonly<EventNamed<'InvitationCreated'>['data']>;

export interface Invitation extends Terms, Remains<'pending' | 'accepted' | 'withdrawn'> {
  readonly createdAt: string;
}

export type InvitationState = None | Invitation;

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
