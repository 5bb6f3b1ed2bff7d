import type { LinkEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';

/** What LinkCreated said, for as long as the log is kept. */
export interface Link {
  readonly code: string;
  readonly url: string;
  readonly account: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly maxClicks: number | null;
  readonly passwordHash: string | null;
}

export type ExpiryReason = 'time' | 'clicks';

/** A link's state. A block hides whatever it covers; what is expired stays so beneath it. */
export type LinkState =
  | { readonly status: 'none' }
  | { readonly status: 'active'; readonly link: Link }
  | { readonly status: 'expired'; readonly link: Link; readonly reason: ExpiryReason }
  | { readonly status: 'blocked'; readonly link: Link; readonly expired: ExpiryReason | null };

export const noLink: LinkState = { status: 'none' };

/** What a link event makes of a link's state. An event that says nothing new changes nothing. */
export const evolveLink = (state: LinkState, event: LinkEvent): LinkState => {
  switch (event.type) {
    case 'linklog.LinkCreated.v1': {
      if (state.status !== 'none') return state;
      const { url, expiresAt, maxClicks, passwordHash } = event.data;
      const link = {
        code: event.subject,
        url,
        account: event.account ?? 'default',
        createdAt: event.time,
        expiresAt,
        maxClicks,
        passwordHash,
      };
      return { status: 'active', link };
    }
    case 'linklog.LinkExpired.v1': {
      const { reason } = event.data;
      if (state.status === 'active') return { status: 'expired', link: state.link, reason };
      if (state.status === 'blocked' && state.expired === null) {
        return { ...state, expired: reason };
      }
      return state;
    }
    case 'linklog.LinkBlocked.v1':
      if (state.status === 'active') return { status: 'blocked', link: state.link, expired: null };
      if (state.status === 'expired') {
        return { status: 'blocked', link: state.link, expired: state.reason };
      }
      return state;
    case 'linklog.LinkUnblocked.v1':
      if (state.status !== 'blocked') return state;
      return state.expired === null
        ? { status: 'active', link: state.link }
        : { status: 'expired', link: state.link, reason: state.expired };
    default:
      return unknownEvent(event, 'link');
  }
};
