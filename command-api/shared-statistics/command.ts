import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { ShareEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import {
  evolveShare,
  noShare,
  type ShareState,
  type ShareTerms,
} from '../../schemas/folds/share.js';

export const maxShares = 10;

/** The subject is the share's ID, `account` that of the link. */
export type ShareCommand =
  /** `expiresIn`: seconds, or `null`; `count`: shares of the link that have not ended or expired. */
  | Command<
      'ShareStatistics',
      {
        readonly account: string;
        readonly terms: Omit<ShareTerms, 'expiresAt'>;
        readonly expiresIn: number | null;
        readonly count: number;
      }
    >
  | Command<'EndShare', { readonly account: string; readonly link: string }>;

export interface ShareRefusal {
  readonly type: 'notFound' | 'sharesExhausted';
}

export const shareDecider: Decider<ShareCommand, ShareEvent, ShareState, ShareRefusal> = {
  initialState: noShare,
  evolve: evolveShare,
  decide({ type, subject, data, metadata }, state) {
    const { account } = data;
    const attributes = { ...nextEvent(state, metadata), subject, account };
    switch (type) {
      case 'ShareStatistics': {
        const { terms, expiresIn, count } = data;
        if (count >= maxShares) return refused({ type: 'sharesExhausted' });
        const endMs = expiresIn === null ? null : attributes.time.getTime() + expiresIn * 1_000;
        const expiresAt = endMs === null ? null : new Date(endMs).toISOString();
        return accepted(newEvent('StatisticsShared', { ...terms, expiresAt }, attributes));
      }
      case 'EndShare': {
        const { link } = data;
        const isOfLink =
          state.status === 'shared' && state.link === link && state.account === account;
        if (!isOfLink) return refused({ type: 'notFound' });
        return accepted(newEvent('ShareEnded', { link }, attributes));
      }
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
