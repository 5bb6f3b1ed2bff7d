import type { EventNamed, ShareEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { None, Remains } from './subject-state.js';

export type ShareTerms = Readonly<EventNamed<'StatisticsShared'>['data']>;

export interface Share extends ShareTerms, Remains<'shared'> {
  readonly createdAt: string;
}

export type EndedShare = Remains<'ended'>;
export type ShareState = None | Share | EndedShare;

export const evolveShare = (state: ShareState, event: ShareEvent): ShareState => {
  const next = { sequence: event.sequence, lastEventAt: new Date(event.time) };
  const account = event.account ?? '';
  switch (event.type) {
    case 'linklog.StatisticsShared.v1':
      return { ...event.data, ...next, status: 'shared', account, createdAt: event.time };
    case 'linklog.ShareEnded.v1':
      return state.status === 'shared' ? { ...next, status: 'ended', account } : state;
    default:
      return unknownEvent(event, 'share');
  }
};
