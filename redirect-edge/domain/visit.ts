import type { LinkState } from '../../schemas/folds/link.js';
import { locationOf } from './location.js';

/** A link as the edge keeps it in memory: what is needed to answer, worked out once. */
export interface ServedLink {
  readonly code: string;
  readonly account: string;
  readonly status: 'active' | 'expired' | 'blocked';
  readonly location: string;
  /** Milliseconds since the epoch; `Infinity` for a link without an end. */
  readonly expiresAt: number;
  /** Whether its clicks are counted against a limit, one by one, by the ledger. */
  readonly limited: boolean;
}

/** The link that a state stands for, or `null` where there never was one. */
export const servedLink = (state: LinkState): ServedLink | null => {
  if (state.status === 'none') return null;
  const { link, status } = state;
  return {
    code: link.code,
    account: link.account,
    status,
    location: locationOf(link.url),
    expiresAt: link.expiresAt === null ? Infinity : Date.parse(link.expiresAt),
    limited: link.maxClicks !== null,
  };
};

export interface Visit {
  /** A HEAD request: never counted. */
  readonly head: boolean;
  readonly bot: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type VisitAnswer =
  | { readonly type: 'notFound' }
  | { readonly type: 'expired' }
  | { readonly type: 'blocked' }
  /** Redirect, after the visit was written down if `counted`. */
  | { readonly type: 'redirect'; readonly counted: boolean }
  /** Redirect if the ledger has a click left. */
  | { readonly type: 'takeClick' }
  /** A small page that does not name the destination: it is given to nobody who is not counted. */
  | { readonly type: 'conceal' };

/** What a visitor gets. */
export const answerVisit = (link: ServedLink | null, visit: Visit): VisitAnswer => {
  if (!link) return { type: 'notFound' };
  if (link.status === 'blocked') return { type: 'blocked' };
  if (link.status === 'expired' || visit.now >= link.expiresAt) return { type: 'expired' };
  if (!link.limited) return { type: 'redirect', counted: !visit.head };
  return visit.head || visit.bot ? { type: 'conceal' } : { type: 'takeClick' };
};
