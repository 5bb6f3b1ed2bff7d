import type { EventNamed, ShareEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';

export type ShareTerms = Readonly<EventNamed<'StatisticsShared'>['data']>;

export interface Share extends ShareTerms {
  readonly status: 'shared';
  readonly account: string;
  readonly createdAt: string;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

/** The rest of a share stays, because repeats of its events have lower sequences. */
export interface EndedShare extends Pick<Share, 'account' | 'sequence' | 'lastEventAt'> {
  readonly status: 'ended';
}

export type ShareState =
  | { readonly status: 'none'; readonly sequence: 0; readonly lastEventAt: Date }
  | Share
  | EndedShare;

export const noShare: ShareState = { status: 'none', sequence: 0, lastEventAt: new Date(0) };

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
