import type { LinkState } from '../../schemas/folds/link.js';
import { statusAt, type RecordedStatus } from '../../schemas/folds/link-status.js';
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
  readonly status: RecordedStatus;
  readonly location: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; `null` for a link without a start. */
  readonly startsAt: number | null;
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
    startsAt: link.startsAt === null ? null : Date.parse(link.startsAt),
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
  /** A request of Microsoft Office before it opens the browser. */
  readonly office: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Why a link leads nowhere. Before its start, a link is not found. */
export interface Dead {
  readonly type: 'notFound' | Exclude<RecordedStatus, 'active'>;
}

export type VisitAnswer =
  | Dead
  /** Redirect, after the visit was written down if `counted`. */
  | { readonly type: 'redirect'; readonly counted: boolean }
  /** Redirect if the ledger has a click left. */
  | { readonly type: 'takeClick' }
  /** The form for the password. */
  | { readonly type: 'askPassword' }
  /** A form without fields. Crawlers submit no forms, so it keeps them from the link's clicks. */
  | { readonly type: 'askToContinue' }
  /** A page that refreshes to the short URL. */
  | { readonly type: 'refresh' };

/** Whether the link accepts POST. */
export const hasForm = ({ limited, passwordHash }: ServedLink): boolean =>
  limited || passwordHash !== null;

const deadOf = (link: ServedLink, now: number): Dead | null => {
  const type = statusAt(link.status, link.startsAt, link.expiresAt, now);
  if (type === 'scheduled') return { type: 'notFound' };
  return type === 'active' ? null : { type };
};

/** What a visitor gets. */
export const answerVisit = (link: ServedLink | null, visit: VisitRequest): VisitAnswer => {
  if (!link) return { type: 'notFound' };
  const dead = deadOf(link, visit.now);
  if (dead) return dead;
  if (visit.office) return { type: 'refresh' };
  if (link.passwordHash !== null) return { type: 'askPassword' };
  if (!link.limited) return { type: 'redirect', counted: !visit.head };
  return visit.head || visit.bot ? { type: 'askToContinue' } : { type: 'takeClick' };
};

/** A form of a link that is submitted, with a password if the link has one. */
export interface FormEntry {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the password was checked and is right. */
  readonly accepted: boolean;
}

export type EntryAnswer =
  | Extract<VisitAnswer, Dead | { readonly type: 'redirect' | 'takeClick' }>
  /** The link has neither a password nor a limit, so it has no such method. */
  | { readonly type: 'noForm' }
  | { readonly type: 'checkPassword'; readonly passwordHash: string };

/** What a visitor who submits a form gets. Called before the password is checked, and again after. */
export const answerEntry = (link: ServedLink | null, entry: FormEntry): EntryAnswer => {
  if (!link || !hasForm(link)) return { type: 'noForm' };
  const dead = deadOf(link, entry.now);
  if (dead) return dead;
  const { passwordHash } = link;
  if (passwordHash !== null && !entry.accepted) return { type: 'checkPassword', passwordHash };
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
  const location = hasForm(link) ? null : link.location;
  return { type: 'preview', location, createdAt, expiresAt };
};
