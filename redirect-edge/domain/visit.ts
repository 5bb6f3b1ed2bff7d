import type { LinkState } from '../../schemas/folds/link.js';
import { statusAt, type LinkStatus } from '../../schemas/folds/link-status.js';
import { parseDestination } from '../../schemas/parse-url.js';

const authority = /^(https?:\/\/)([^/\\?#]*)/i;
const notForHeaders = /[^\x21-\x7e]+/g;

/**
 * A destination as a `Location` header: exactly as it was stored, save for what cannot stand in a
 * header. That is percent-encoded as UTF-8; a host that is not ASCII becomes punycode.
 */
export const locationOf = (destination: string): string => {
  const asciiHost = destination.replace(authority, (whole, scheme: string, host: string) => {
    notForHeaders.lastIndex = 0;
    return notForHeaders.test(host) ? scheme + parseDestination(destination).host : whole;
  });
  return asciiHost.replace(notForHeaders, (text) => encodeURIComponent(text));
};

/** A link as the edge keeps it in memory: what is needed to answer, worked out once. */
export interface ServedLink {
  readonly code: string;
  readonly account: string;
  readonly status: LinkStatus;
  readonly location: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; `null` for a link without an end. */
  readonly expiresAt: number | null;
  /** Whether its clicks are counted against a limit, one by one, by the ledger. */
  readonly limited: boolean;
  /** argon2id; `null` for a link that is open to everybody. */
  readonly passwordHash: string | null;
  /** Of the last event that is in it. */
  readonly sequence: number;
}

/** The link that a state stands for, or `null` where there never was one. */
export const servedLink = (state: LinkState, sequence: number): ServedLink | null => {
  if (state.status === 'none') return null;
  const { link, status } = state;
  return {
    code: link.code,
    account: link.account,
    status,
    location: locationOf(link.url),
    createdAt: Date.parse(link.createdAt),
    expiresAt: link.expiresAt === null ? null : Date.parse(link.expiresAt),
    limited: link.maxClicks !== null,
    passwordHash: link.passwordHash,
    sequence,
  };
};

export interface VisitRequest {
  /** A HEAD request: never counted. */
  readonly head: boolean;
  readonly bot: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Why a link leads nowhere. */
export interface Dead {
  readonly type: 'notFound' | Exclude<LinkStatus, 'active'>;
}

export type VisitAnswer =
  | Dead
  /** Redirect, after the visit was written down if `counted`. */
  | { readonly type: 'redirect'; readonly counted: boolean }
  /** Redirect if the ledger has a click left. */
  | { readonly type: 'takeClick' }
  /** The form. */
  | { readonly type: 'askPassword' }
  /** A small page that does not name the destination: it is given to nobody who is not counted. */
  | { readonly type: 'conceal' };

const deadOf = (link: ServedLink, now: number): Dead | null => {
  const type = statusAt(link.status, link.expiresAt ?? Infinity, now);
  return type === 'active' ? null : { type };
};

/** What a visitor gets. */
export const answerVisit = (link: ServedLink | null, visit: VisitRequest): VisitAnswer => {
  if (!link) return { type: 'notFound' };
  const dead = deadOf(link, visit.now);
  if (dead) return dead;
  const secured = link.passwordHash !== null;
  if (!link.limited && !secured) return { type: 'redirect', counted: !visit.head };
  if (visit.head || visit.bot) return { type: 'conceal' };
  return secured ? { type: 'askPassword' } : { type: 'takeClick' };
};

/** A visitor who sends a password. */
export interface PasswordEntry {
  readonly bot: boolean;
  readonly now: number;
  /** Whether the password was checked and is right. */
  readonly accepted: boolean;
}

export type EntryAnswer =
  | Exclude<VisitAnswer, { readonly type: 'askPassword' }>
  /** The link has no password, so it has no such method. */
  | { readonly type: 'noPassword' }
  | { readonly type: 'checkPassword'; readonly passwordHash: string };

/** What a visitor who sends a password gets. Called before the password is checked, and again after. */
export const answerEntry = (link: ServedLink | null, entry: PasswordEntry): EntryAnswer => {
  const passwordHash = link?.passwordHash ?? null;
  if (!link || passwordHash === null) return { type: 'noPassword' };
  const dead = deadOf(link, entry.now);
  if (dead) return dead;
  if (entry.bot) return { type: 'conceal' };
  if (!entry.accepted) return { type: 'checkPassword', passwordHash };
  return link.limited ? { type: 'takeClick' } : { type: 'redirect', counted: true };
};

export type PreviewAnswer =
  | Dead
  | {
      readonly type: 'preview';
      /** `null` where only counted visitors may know it. */
      readonly location: string | null;
      /** Milliseconds since the epoch. */
      readonly createdAt: number;
      /** `null` for a link without an end. */
      readonly expiresAt: number | null;
    };

/** What the preview page tells of a link; bots and `HEAD` may see it. */
export const answerPreview = (link: ServedLink | null, now: number): PreviewAnswer => {
  if (!link) return { type: 'notFound' };
  const dead = deadOf(link, now);
  if (dead) return dead;
  const { createdAt, expiresAt } = link;
  const concealed = link.limited || link.passwordHash !== null;
  return { type: 'preview', location: concealed ? null : link.location, createdAt, expiresAt };
};
