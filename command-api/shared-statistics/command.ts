import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { ShareEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { evolveShare, type ShareState, type ShareTerms } from '../../schemas/folds/share.js';
import { noSubject } from '../../schemas/folds/subject-state.js';

export const maxShares = 10;

/** What a new share needs: `expiresIn` in seconds, and `count`, the shares of the link that have not ended or expired. */
interface NewShare extends Omit<ShareTerms, 'expiresAt'> {
  readonly account: string;
  readonly expiresIn: number | null;
  readonly count: number;
}

/** The subject is the share's ID, `account` that of the link. */
export type ShareCommand =
  Command<'ShareStatistics', NewShare> | Command<'EndShare', Pick<NewShare, 'account' | 'link'>>;

export interface ShareRefusal {
  readonly type: 'notFound' | 'sharesExhausted';
}

export const shareDecider: Decider<ShareCommand, ShareEvent, ShareState, ShareRefusal> = {
  initialState: noSubject,
  evolve: evolveShare,
  decide({ type, subject, data, metadata }, state) {
    const { account, link } = data;
    const attributes = { ...nextEvent(state, metadata), subject, account };
    switch (type) {
      case 'ShareStatistics': {
        const { expiresIn, count, tokenHash, passwordHash, showDestination } = data;
        if (count >= maxShares) return refused({ type: 'sharesExhausted' });
        const end = new Date(attributes.time.getTime() + (expiresIn ?? 0) * 1_000).toISOString();
        const expiresAt = expiresIn === null ? null : end;
        const terms = { link, tokenHash, expiresAt, passwordHash, showDestination };
        return accepted(newEvent('StatisticsShared', terms, attributes));
      }
      case 'EndShare':
        return state.status === 'shared' && state.link === link && state.account === account
          ? accepted(newEvent('ShareEnded', { link }, attributes))
          : refused({ type: 'notFound' });
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
